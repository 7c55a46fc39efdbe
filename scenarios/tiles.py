"""Does it pay to render a frame in tiles, on several GPUs at once? Not on rented ones.

Two tiles save a quarter of a minute at best, on the quiet day, which has spare slots.
On the other days they cost five minutes to two and a half hours, because each tile
waits for a GPU to be provisioned, which takes longer than rendering it. If GPUs are
available at once, tiles save up to a minute on every day.

The thesis leaves it as future work (Section 6.2.2, point 3). Each tile waits for a slot
as a job does; the frame ends when the last one is merged. Every tile repeats a share of
the frame's time (it loads the scene), tiles are unequal, and a merge takes a few
seconds and no GPU. With one tile, a frame is identical to the thesis's job.
"""

from dataclasses import dataclass, replace

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.plots.figure import Figure, numbers, where
from cgrsp_simpy.plots.marks import intervals
from cgrsp_simpy.rental.instances import provisioning

DAYS, TILES, SEEDS = ("quiet", "normal", "hectic", "surge"), (1, 2, 4), range(20)
LOOKS = (("#0072B2", "o-"), ("#D55E00", "s--"), ("#000000", "^:"))
LABELS = {
    "stay_min": "end of a frame\nlater by (min)",
    "miss_pct": "missed deadlines\nmore by (points)",
}
SPLITS = {  # share repeated, imbalance, seconds to merge, whether GPUs are at hand
    "an ideal split": (0.0, 0.0, 0.0, False),
    "10 % repeated, 30 % uneven, 5 s to merge": (0.1, 0.3, 5.0, False),
    "an ideal split, GPUs at hand": (0.0, 0.0, 0.0, True),
}


@dataclass(frozen=True)
class Tiled(cg.Scenario):
    """Frames in tiles. imbalance: standard deviation of a tile's time over its mean."""

    tiles: int = 1
    imbalance: float = 0.0
    merge_s: float = 0.0

    def job_process(self, run, frame):
        draws = run.draw("tiles", frame.id).random((self.tiles, 3))
        luck = run.hidden[frame]
        parts = 1 + self.imbalance * 3**0.5 * (2 * draws[:, 2] - 1)
        parts *= self.tiles / parts.sum()
        others = []  # next to the first tile, which is the frame's own claim
        for n, (status, delay, _) in enumerate(draws[1:], 1):
            tile = frame._replace(id=frame.id + n / self.tiles)
            own = luck._replace(status=status, delay=delay)
            others.append(run.process(self.tile(run, tile, parts[n], own)))
        own = yield from self.tile(run, frame, parts[0] if others else 1.0, luck)
        done = yield run.env.all_of(others)
        told = [own, *done.values()]
        if others:
            run.mark_started(frame, max(each[0] for each in told))  # of the last tile
            yield run.timeout(self.merge_s)
        delay_s, service_s, cost_usd = (sum(each) for each in list(zip(*told))[-3:])
        run.record(frame, *own[1:4], delay_s, service_s, cost_usd)

    def tile(self, run, tile, part, luck):
        with run.claim(tile, request=False) as claim:
            yield claim
            [gpu], mean_s = claim.terms
            status, delay_s = provisioning(run.stock, [gpu], run.now_s, luck)
            yield run.timeout(delay_s)
            with claim.request() as turn:
                yield turn
                started_s, service_s = run.now_s, mean_s * luck.service * part
                yield run.timeout(service_s)
        place = claim.parts[0][0], run.gpu_index[gpu.name], status
        usd = service_s * gpu.price_usd_per_h / 3600
        return started_s, *place, delay_s, service_s, usd


def tiled(name, tiles, repeated, imbalance, merge_s, at_hand):
    """A day of the thesis whose GPU types have the mean times of tiles."""
    day = cg.day(name, kind=Tiled, tiles=tiles, imbalance=imbalance, merge_s=merge_s)

    def of_tiles(gpu):
        share = repeated + (1 - repeated) / tiles if tiles > 1 else 1.0
        times_s = tuple(share * each for each in gpu.mean_execution_s)
        return replace(gpu, mean_execution_s=times_s)

    gpus, slots = (tuple(map(of_tiles, each)) for each in (day.gpus, day.slots))
    market = replace(day.market, delay_s=((0, 0),) * 3) if at_hand else day.market
    return replace(day, gpus=gpus, slots=slots, market=market)


def measured(scenario):
    """By seed the mean minutes from the submission of a frame to its end, and the
    share of deadlines missed, in %.
    """
    runs = [cg.simulate(scenario, "edf", seed) for seed in SEEDS]
    stays = [(run.jobs["finish_s"] - run.jobs["submit_s"]).mean() / 60 for run in runs]
    return {
        "stay_min": stays,
        "miss_pct": [run.summary()["miss_pct"] for run in runs],
    }


def rows_of(day, split, values):
    """Return one row per number of tiles: means, and differences from whole frames.

    values: as from `measured`, by number of tiles.
    """
    rows = []
    for tiles, figures in values.items():
        row = {"day": day, "split": split, "tiles": tiles}
        for name, by_seed in figures.items():
            columns = {name: mean(by_seed)}
            columns[f"{name}_more"] = paired_difference(by_seed, values[1][name])
            for column, value in columns.items():
                row |= {column: value.mean, f"{column}_half_width_95": value.half_width}
        rows.append(row)
    return rows


def interval(row, name):
    return f"{row[name]:7.2f} ± {row[f'{name}_half_width_95']:5.2f}"


def draw(canvas, rows):
    """One line per split: differences from whole frames by number of tiles."""
    grid, lines = canvas.subplots(len(LABELS), len(DAYS), sharex=True), []
    for (name, label), panels in zip(LABELS.items(), grid):
        panels[0].set_ylabel(label)
        for day, ax in zip(DAYS, panels):
            if any(numbers(where(rows, day=day), f"{name}_more")):
                lines = draw_splits(ax, where(rows, day=day), name)
            else:
                ax.text(2.5, 0.5, "no difference", ha="center", fontsize="small")
                ax.set_yticks([])
            ax.set_xticks(TILES)
    for day, ax in zip(DAYS, grid[0]):
        ax.set_title(f"{day} day", loc="left", fontsize="medium")
    canvas.supxlabel("tiles per frame", fontsize="medium")
    return lines


def draw_splits(ax, rows, name):
    lines = []
    for number, (split, (colour, form)) in enumerate(zip(SPLITS, LOOKS)):
        line = where(rows, split=split)
        # lines next to each other
        at = [tiles + 0.1 * (number - 1) for tiles in numbers(line, "tiles")]
        more = numbers(line, f"{name}_more")
        halves = numbers(line, f"{name}_more_half_width_95")
        lines += ax.plot(at, more, form, color=colour, label=split)
        intervals(ax, at, more, y_half=halves, colour=colour)
    ax.axhline(0, color="0.55", linewidth=0.8, zorder=0)
    return lines


FIGURE = Figure(
    "tiles",
    "Frames in tiles: differences from whole frames",
    (6.3, 4.0),
    note=(
        f"Differences from whole frames, paired by seed; EDF, {len(SEEDS)} seeds, 95 %"
        " intervals"
    ),
    draw=draw,
    texts=("day", "split"),
    legend={"columns": len(SPLITS)},
)

if __name__ == "__main__":
    rows = []
    for day in DAYS:
        for split, how in SPLITS.items():
            print(f"{day}, {split}")
            values = {tiles: measured(tiled(day, tiles, *how)) for tiles in TILES}
            for row in rows_of(day, split, values):
                more = f", {interval(row, 'stay_min_more')} min more than whole"
                print(
                    f"  {row['tiles']}: {interval(row, 'stay_min')} min"
                    f"{more * (row['tiles'] > 1)}; {interval(row, 'miss_pct')} %"
                )
                rows.append(row)
    FIGURE.write("figures", rows)
