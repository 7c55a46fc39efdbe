"""The compiled loop: a run, event by event, in the order of SimPy's.

`rental.bulk` fills the arrays of `state` and calls `advance`, of `loop` or `triage`,
until it returns ENDED; the arrays keep the state in between, so that jobs, stock and
rows pass in blocks. Times: seconds.
"""
