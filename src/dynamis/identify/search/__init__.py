"""What the log decides of an identification."""
