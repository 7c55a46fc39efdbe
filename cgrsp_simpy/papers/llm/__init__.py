"""LLM inference: Table II and its figure."""
