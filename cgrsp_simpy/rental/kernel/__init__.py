"""The compiled event loop of a run; events have the same order as in SimPy.

`rental.bulk` fills the arrays of `state` and calls `advance`, from `loop` or `triage`,
until it returns ENDED. The arrays keep the state between calls, so that jobs, stock and
rows can be exchanged in blocks. Times are in seconds.
"""
