"""The arm and controllers as units of the Functional Mock-up Interface (FMI 2 and 3)."""
