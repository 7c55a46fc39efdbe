"""The engine: fleet, dispatcher, processes and simulation, in SimPy."""
