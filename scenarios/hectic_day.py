"""Which policy should a studio run on a hectic day?

SPT and RH have the shortest waits, RH and CADR the fewest missed deadlines.
CADR has a lower tardiness than RH.
"""

import cgrsp_simpy as cg

if __name__ == "__main__":
    day = cg.day("hectic", slots=5, tight_fraction=0.2)
    study = cg.compare(
        day, policies=["fifo", "spt", "edf", "rh", "cadr"], seeds=range(30)
    )
    print(study)
    study.to_csv("hectic.csv")

    more = cg.compare(
        cg.day("hectic", slots=7), policies=["fifo", "cadr"], seeds=range(30)
    )
    print(
        "\nwith two more slots:",
        *(
            f"{name} misses {row['miss_pct'].mean:.1f} %"
            for name, row in more.means().items()
        ),
        sep="\n",
    )
