"""Reproduction of the paper on waiting policies: its table and its figures."""
