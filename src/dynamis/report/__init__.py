"""Pages to look at: one self-contained HTML file, no network."""
