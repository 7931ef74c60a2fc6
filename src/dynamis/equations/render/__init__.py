"""Derivations and equations as text, Markdown, LaTeX and HTML."""
