"""Reproduction of the paper on clusters: its table and its figures."""
