"""The demonstration: the whole way of one arm, from its DH table to a controller in C."""
