"""The demonstration: one arm from its DH table to a controller in C."""
