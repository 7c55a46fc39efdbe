"""Many runs: replications, comparisons, sweeps, searches, and results directories."""
