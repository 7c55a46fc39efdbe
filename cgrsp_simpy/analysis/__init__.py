"""From runs to figures: metrics, statistics, ranks, selection; queueing formulas, and a
solver.
"""
