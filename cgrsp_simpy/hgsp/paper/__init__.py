"""What reproduces the paper on HGSP: its figures."""
