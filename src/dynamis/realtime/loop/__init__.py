"""The control loop of an exported controller and the simulated arm it talks to."""
