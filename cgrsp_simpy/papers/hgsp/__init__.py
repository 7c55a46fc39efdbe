"""Reproduction of the paper on HGSP: its figures, and Table I cell by cell."""
