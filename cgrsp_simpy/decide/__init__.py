"""Decisions on rented GPUs: advice, lower bounds, months, verification of results."""
