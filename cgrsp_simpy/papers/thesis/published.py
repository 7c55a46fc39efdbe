"""Tables of the thesis as printed: figures to compare with, never used for a result.

A cell holds a figure, with its 95 % interval if printed, or two figures with a slash
between. Only the names of rows and columns are unified.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """Printed table. n: replications behind each cell. rows: cells per row name."""

    id: str
    caption: str
    n: int
    columns: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]


def _printed(id: str, caption: str, n: int, text: str) -> Printed:
    head, *body = (
        [part.strip() for part in line.split("|")]
        for line in text.strip("\n").splitlines()
    )
    return Printed(
        id, caption, n, tuple(head[1:]), {name: tuple(cells) for name, *cells in body}
    )


# jobs per GPU type: Section 5.1.1
JOBS_OF_TYPES = {
    "RTX 3090": 1119,
    "RTX A5000": 4916,
    "RTX A4000": 257,
    "RTX A4500": 335,
}
# Mean execution times at complexity 2 are printed in Section 3.7, baseline
# probabilities of High stock in Section 5.1.1.
INPUTS = {
    table.id: table
    for table in (
        _printed(
            "4.1",
            "GPU types: what the simulation takes from the thesis",
            0,
            """
          | price, USD per h | kappa 1, s | kappa 2, s | kappa 3, s | High stock, %
RTX 3090  | 0.46             | 59.7       | 70.2       | 100.9      | 50
RTX A5000 | 0.27             | 60.9       |            | 99.6       | 65
RTX A4500 | 0.25             | 62.2       |            | 88.7       | 70
RTX A4000 | 0.25             | 60.0       | 68.7       | 98.2       | 75
""",
        ),
        _printed(
            "Section 5.1.1",
            "Days: what the simulation takes from the thesis",
            0,
            """
       | jobs | rate per s | slots | tight jobs, % | tight window, s | loose window, s
quiet  | 6    | 0.0008     | 5     | 20            | 3600            | 28800
normal | 100  | 0.002      | 5     | 20            | 3600            | 28800
hectic | 950  | 0.100      | 5     | 20            | 3600            | 28800
surge  | 730  | 0.020      | 5     | 20            | 3600            | 28800
""",
        ),
    )
}

PRINTED = {
    table.id: table
    for table in (
        _printed(
            "5.1",
            "Hectic day, one seed (42)",
            1,
            """
           | wait, min | miss, % | cost, USD | utilisation, % | completed
SPT+Rescue | 146.81    | 15.79   | 6.38      | 95.7           | 950/950
SPT        | 135.29    | 17.16   | 5.95      | 95.7           | 950/950
EDF        | 147.84    | 5.16    | 6.13      | 95.7           | 950/950
LCF        | 168.85    | 26.84   | 6.22      | 95.7           | 950/950
Balanced   | 168.85    | 26.84   | 6.22      | 95.7           | 950/950
FIFO       | 158.48    | 23.58   | 6.09      | 95.7           | 950/950
Random     | 148.91    | 19.26   | 6.27      | 95.7           | 950/950
""",
        ),
        _printed(
            "5.2",
            "Hectic day, 30 seeds, with 95 % intervals",
            30,
            """
           | wait, min               | miss, %              | tardiness, min | cost, USD
RH         | 128.83 [124.48, 133.17] | 7.54 [6.19, 8.89]    | 20.30          | 6.09
CADR       | 132.81 [128.63, 136.99] | 7.88 [6.30, 9.47]    | 6.08           | 6.13
SPT+Rescue | 135.21 [131.32, 139.11] | 12.40 [10.81, 13.99] | 5.96           | 6.10
Adaptive   | 154.77 [150.57, 158.97] | 9.28 [7.65, 10.92]   | 2.70           | 6.15
SPT        | 129.41 [125.24, 133.58] | 13.85 [11.94, 15.76] | 14.48          | 6.06
EDF        | 158.17 [154.46, 161.89] | 11.82 [10.29, 13.35] | 3.42           | 6.12
LCF        | 157.19 [154.20, 160.19] | 22.30 [21.32, 23.28] | 23.07          | 6.13
Balanced   | 153.94 [150.16, 157.73] | 20.73 [19.23, 22.23] | 22.16          | 6.11
FIFO       | 158.77 [155.37, 162.16] | 23.01 [21.91, 24.11] | 23.67          | 6.15
Random     | 155.87 [152.03, 159.72] | 20.99 [19.85, 22.12] | 29.34          | 6.14
""",
        ),
        _printed(
            "5.3",
            "Paired tests on the hectic day, 30 seeds",
            30,
            """
                         | t       | p       | significant | d
SPT vs FIFO, wait        | -16.526 | < 0.001 | Yes         | -2.882
SPT vs FIFO, miss        | -10.231 | < 0.001 | Yes         | -2.197
SPT+Rescue vs FIFO, wait | -13.367 | < 0.001 | Yes         | -2.406
SPT+Rescue vs FIFO, miss | -14.531 | < 0.001 | Yes         | -2.899
EDF vs FIFO, wait        | -0.366  | 0.717   | No          | -0.062
EDF vs FIFO, miss        | -14.548 | < 0.001 | Yes         | -3.138
Random vs FIFO, miss     | -3.659  | 0.001   | Yes         | -0.676
SPT vs EDF, miss         | +1.845  | 0.075   | No          | +0.438
RH vs FIFO, wait         | -13.847 | < 0.001 | Yes         | -2.866
RH vs FIFO, miss         | -21.304 | < 0.001 | Yes         | -4.699
RH vs SPT+Rescue, wait   | -3.235  | 0.003   | Yes         | -0.578
RH vs SPT+Rescue, miss   | -7.104  | < 0.001 | Yes         | -1.231
RH vs CADR, miss         | -0.456  | 0.652   | No          | -0.088
""",
        ),
        _printed(
            "5.4",
            "Ablation: from FIFO to the hybrids, hectic day, 30 seeds",
            30,
            """
                | wait, min | miss, % | tardiness, min | d of wait | d of miss
FIFO            | 158.77    | 23.01   | 23.67          |           |
SPT             | 129.41    | 13.85   | 14.48          | -2.882    | -2.197
EDF             | 158.17    | 11.82   | 3.42           | -0.062    | -3.138
SPT+Rescue      | 135.21    | 12.40   | 5.96           | 0.537     | -0.308
RH              | 128.83    | 7.54    | 20.30          | -2.866    | -4.699
CADR            | 132.81    | 7.88    | 6.08           | -2.545    | -4.140
Adaptive        | 154.77    | 9.28    | 2.70           | -0.390    | -3.675
CADR-order-only | 134.48    | 7.84    | 6.02           |           |
""",
        ),
        _printed(
            "5.5",
            "Day types: mean wait in min / miss in %, 30 seeds",
            30,
            """
      |SPT       |LCF       |Balanced  |FIFO      |EDF       |Random    |SPT+Rescue|RH       |CADR     |Adaptive
quiet |0.5/0.0   |0.5/0.0   |0.5/0.0   |0.7/0.0   |0.5/0.0   |0.6/0.0   |0.5/0.0   |0.5/0.0  |0.5/0.0  |0.5/0.0
normal|5.2/0.8   |4.7/0.6   |5.5/0.9   |7.0/1.2   |6.0/1.0   |6.6/0.9   |5.2/0.8   |5.5/0.8  |5.2/0.9  |5.2/0.8
hectic|129.4/13.8|157.2/22.3|153.9/20.7|158.8/23.0|158.2/11.8|155.9/21.0|135.2/12.4|128.8/7.5|132.8/7.9|154.8/9.3
surge |90.2/6.3  |98.3/11.0 |93.4/10.6 |94.3/10.7 |96.3/1.7  |93.7/9.3  |89.8/3.1  |109.6/1.4|94.8/4.1 |95.3/1.3
""",
        ),
        _printed(
            "5.6",
            "Miss in % by share of tight deadlines, surge day, 30 seeds",
            30,
            """
     | FIFO  | SPT   | EDF   | LCF   | Balanced | Random | SPT+Rescue
10 % | 5.23  | 2.98  | 0.57  | 5.35  | 5.14     | 4.44   | 1.29
30 % | 16.43 | 10.03 | 4.14  | 16.81 | 16.17    | 13.99  | 6.51
50 % | 27.02 | 17.36 | 19.20 | 27.64 | 26.61    | 23.34  | 19.00
70 % | 37.73 | 25.45 | 33.89 | 38.58 | 37.31    | 32.46  | 34.75
90 % | 48.38 | 35.46 | 47.65 | 49.54 | 47.86    | 41.70  | 47.17
""",
        ),
        _printed(
            "5.7",
            "Number of slots: mean wait in min / miss in %, hectic day, 10 seeds",
            10,
            """
           | FIFO       | SPT        | EDF        | SPT+Rescue | RH         | CADR       | Adaptive
C_max = 3  | 387.5/57.5 | 358.9/55.2 | 382.7/50.7 | 364.1/48.9 | 358.5/45.9 | 364.2/47.3 | 382.2/48.9
C_max = 5  | 157.1/22.9 | 127.3/13.6 | 159.6/12.1 | 133.5/12.1 | 126.6/6.9  | 130.9/6.8  | 153.2/9.1
C_max = 7  | 40.9/5.2   | 36.0/3.2   | 40.8/0.0   | 36.0/0.0   | 35.7/2.9   | 35.7/0.0   | 40.8/0.0
C_max = 10 | 6.7/0.0    | 5.6/0.0    | 6.7/0.0    | 5.6/0.0    | 10.7/0.0   | 5.8/0.0    | 6.6/0.0
""",
        ),
        _printed(
            "5.8",
            "Rescue threshold of SPT+Rescue, hectic day, 10 seeds",
            10,
            """
               | wait, min | miss, %
theta = 60 s   | 133.04    | 12.72
theta = 180 s  | 130.50    | 10.43
theta = 300 s  | 132.03    | 10.97
theta = 600 s  | 133.45    | 12.12
theta = 1200 s | 131.80    | 10.84
""",
        ),
        _printed(
            "5.9",
            "Critical ratio of CADR, hectic day, 10 seeds",
            10,
            """
           | wait, min | miss, %
CR* = 1.5  | 131.45    | 8.95
CR* = 2.0  | 131.39    | 7.76
CR* = 3.0  | 130.88    | 6.82
CR* = 5.0  | 131.62    | 7.02
CR* = 10.0 | 132.56    | 7.02
""",
        ),
        _printed(
            "5.10",
            "Slots reserved by RH, surge and hectic day, 30 seeds",
            30,
            """
                   | wait, min | miss, % | tight miss, % | loose miss, %
surge, 0 reserved  | 90.3      | 6.00    | 30.1          | 0.0
surge, 1 reserved  | 109.6     | 1.37    | 6.2           | 0.2
surge, 2 reserved  | 131.0     | 2.57    | 7.2           | 1.4
surge, 3 reserved  | 169.2     | 5.61    | 6.0           | 5.5
hectic, 0 reserved | 128.8     | 7.54    | 19.3          | 4.6
hectic, 1 reserved | 128.8     | 7.54    | 19.3          | 4.6
hectic, 2 reserved | 128.8     | 7.54    | 19.3          | 4.6
hectic, 3 reserved | 128.8     | 7.54    | 19.3          | 4.6
""",
        ),
        _printed(
            "5.11",
            "Composite of wait, miss and cost, normalised over six policies, hectic"
            " day, 10 seeds",
            10,
            """
             | FIFO | SPT  | EDF  | SPT+Rescue | RH   | CADR
w_cost = 0.1 | 0.99 | 0.32 | 0.48 | 0.33       | 0.03 | 0.12
w_cost = 0.3 | 0.97 | 0.25 | 0.55 | 0.35       | 0.10 | 0.31
w_cost = 0.5 | 0.96 | 0.18 | 0.62 | 0.38       | 0.17 | 0.51
w_cost = 0.7 | 0.94 | 0.11 | 0.69 | 0.41       | 0.24 | 0.71
w_cost = 0.9 | 0.92 | 0.04 | 0.75 | 0.44       | 0.31 | 0.90
ratio = 1    | 0.96 | 0.08 | 0.80 | 0.36       | 0.17 | 0.55
ratio = 5    | 0.96 | 0.16 | 0.66 | 0.38       | 0.17 | 0.52
ratio = 10   | 0.96 | 0.18 | 0.62 | 0.38       | 0.17 | 0.51
ratio = 20   | 0.96 | 0.19 | 0.59 | 0.39       | 0.17 | 0.50
ratio = 50   | 0.96 | 0.20 | 0.57 | 0.39       | 0.17 | 0.50
""",
        ),
        _printed(
            "5.12",
            "Composite of wait, tardiness and cost, normalised over six policies,"
            " hectic day, 10 seeds",
            10,
            """
           | FIFO | SPT  | EDF  | SPT+Rescue | RH   | CADR
ratio = 1  | 0.96 | 0.05 | 0.70 | 0.26       | 0.28 | 0.50
ratio = 5  | 0.96 | 0.16 | 0.49 | 0.25       | 0.46 | 0.50
ratio = 10 | 0.96 | 0.19 | 0.43 | 0.24       | 0.51 | 0.50
ratio = 20 | 0.96 | 0.20 | 0.39 | 0.24       | 0.54 | 0.50
ratio = 50 | 0.96 | 0.23 | 0.39 | 0.26       | 0.56 | 0.52
""",
        ),
        _printed(
            "5.13",
            "A month of 30 days, 10 replications",
            10,
            """
           | wait, min               | miss, % | tardiness, min | cost, USD
RH         | 95.22 [88.35, 102.09]   | 5.14    | 12.47          | 46.37
CADR       | 95.70 [89.74, 101.66]   | 5.03    | 4.43           | 46.44
SPT+Rescue | 95.51 [89.21, 101.81]   | 6.99    | 3.38           | 46.64
Adaptive   | 107.88 [100.97, 114.79] | 5.48    | 1.90           | 46.82
SPT        | 93.94 [86.85, 101.03]   | 8.97    | 10.95          | 46.66
EDF        | 107.56 [99.67, 115.45]  | 6.32    | 2.00           | 48.52
LCF        | 108.07 [99.23, 116.91]  | 15.01   | 15.52          | 46.38
Balanced   | 107.25 [99.13, 115.37]  | 14.91   | 15.22          | 47.24
FIFO       | 109.73 [101.51, 117.95] | 14.94   | 15.91          | 51.28
Random     | 107.78 [99.53, 116.03]  | 13.99   | 19.39          | 49.43
""",
        ),
        _printed(
            "Section 5.5.6",
            "Table 5.10 to more decimals, surge day, 30 seeds",
            30,
            """
                  | wait, min | tight miss, % | loose miss, %
surge, 0 reserved | 90.31     | 30.08         |
surge, 1 reserved | 109.60    | 6.17          | 0.17
""",
        ),
        _printed(
            "Section 5.6",
            "Hectic days of the month, 10 replications",
            10,
            """
           | hectic miss, %
FIFO       | 21.99
SPT        | 13.14
SPT+Rescue | 11.00
""",
        ),
        _printed(
            "Figure 5.7",
            "Mean waits of the policies by kind of day in the month, 10 replications",
            10,
            """
       | least wait, min | greatest wait, min
hectic | 152             | 190
surge  | 91              | 104
normal | 4               | 6
""",
        ),
    )
}
"""The thesis's tables by number, as printed, and numbers of its text."""
