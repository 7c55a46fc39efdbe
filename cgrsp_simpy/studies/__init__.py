"""Many runs: replications and comparisons."""
