"""Plots: functions that take data and ax= and return the Axes."""
