"""From a Program to source code in other languages."""
