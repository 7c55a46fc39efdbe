"""Reproduction of the paper on training graphs: its searches, distances and figures."""
