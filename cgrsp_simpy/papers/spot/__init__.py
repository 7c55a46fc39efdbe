"""Figures of jobs on spot instances."""
