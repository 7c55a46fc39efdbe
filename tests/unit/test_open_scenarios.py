"""Any deadline classes, arrival rates by hour, stock by type and hour, weights: in records, figures, views and TOML."""



import cgrsp_simpy as cg

HOUR_S = 3600.0
THREE = (
    cg.DeadlineClass("rush", 0.2, 600.0, tight=True, weight=5.0),
    cg.DeadlineClass("day", 0.5, 7200.0),
    cg.DeadlineClass("batch", 0.3, 86400.0, weight=0.5),
)
three = cg.Scenario("three", cg.PoissonWorkload(300, 0.05, deadlines=THREE))
