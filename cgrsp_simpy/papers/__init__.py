"""Reproductions of the papers' tables and figures, recorded in a manifest."""
