"""Many runs: replications, comparisons, sweeps and searches, and the directories that
keep them.
"""
