"""Analysis of runs: metrics, statistics, ranks, selection, queueing, a solver."""
