"""Changes of files, one module per format."""
