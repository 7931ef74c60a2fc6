"""From a Program to something that runs or compiles."""
