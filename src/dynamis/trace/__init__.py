"""From a function to a Program: a straight line of operations from one short list."""
