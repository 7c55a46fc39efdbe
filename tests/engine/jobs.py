"""Jobs of tiny runs, and a hectic day."""

import cgrsp_simpy as cg

AT_ONCE = ((0, 0),) * 3
DAY_S = 86_400


def jobs(*submit_s, **same):
    """Loose jobs of complexity 1, due a day after submission."""
    return [cg.Job(i, at_s, at_s + DAY_S, **same) for i, at_s in enumerate(submit_s)]


HECTIC = cg.day("hectic", jobs=150)
