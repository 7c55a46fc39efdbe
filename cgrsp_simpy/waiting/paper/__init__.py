"""What reproduces the paper on waiting policies: its table and its figures."""
