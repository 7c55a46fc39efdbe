"""What reproduces the paper on training graphs: its searches, distances and figures."""
