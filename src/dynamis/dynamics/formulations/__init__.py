"""Formulations beside the recursion that is compiled: for comparison and teaching."""
