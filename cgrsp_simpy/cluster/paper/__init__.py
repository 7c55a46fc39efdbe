"""What reproduces the paper on clusters: its table and its figures."""
