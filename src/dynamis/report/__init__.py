"""HTML reports: self-contained pages without network access."""
