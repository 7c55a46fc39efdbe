"""Foundations of all models: parameters, policies as values, random streams, tables."""
