"""Decisions on rented GPUs: advice, bounds, suites of scenarios, months."""
