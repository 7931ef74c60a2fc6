"""The simulated arm that an exported controller talks to, and their packets."""
