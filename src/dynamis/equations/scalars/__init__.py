"""Scalars that closed forms are computed with: exact numbers, polynomials, tapes."""
