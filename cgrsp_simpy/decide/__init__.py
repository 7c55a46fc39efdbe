"""Decisions on rented GPUs: advice, bounds, months, verification of results."""
