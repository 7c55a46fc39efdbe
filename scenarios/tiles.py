"""Does it pay to render a frame in tiles, on several GPUs at once? Not on rented ones.

Two tiles save a quarter of a minute at best, on the quiet day, which has slots to
spare; on the others they cost five minutes to two and a half hours, for each tile waits
for a GPU of its own to be provisioned, which takes longer than to render it. With GPUs
at hand tiles pay on every day, by less than a minute.

The thesis leaves it as future work (Section 6.2.2, point 3). Each tile waits for a slot
as a job does; the frame ends when the last one is merged. Every tile repeats a share of
the frame's time (it loads the scene), tiles are unequal, and a merge takes a while on
no GPU. With one tile a frame is the thesis's job, to the bit.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.rental.process import provisioning

DAYS, TILES, SEEDS = ("quiet", "normal", "hectic", "surge"), (1, 2, 4), range(20)
LOOKS = ("o-", "s--", "^:")
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
        others = []  # beside the first tile, which is the frame's own claim
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


def judged(scenario):
    """By seed the mean minutes from the submission of a frame to its end, and the
    share of deadlines missed, in %.
    """
    runs = [cg.simulate(scenario, "edf", seed) for seed in SEEDS]
    stays = [(run.jobs["finish_s"] - run.jobs["submit_s"]).mean() / 60 for run in runs]
    return stays, [run.summary()["miss_pct"] for run in runs]


def told(value):
    return f"{value.mean:7.2f} ± {value.half_width:5.2f}"


def draw(column, number, split, found):
    """A line of means with intervals for each figure, against the number of tiles."""
    at = [tiles + 0.08 * (number - 1) for tiles in TILES]  # lines beside each other
    for ax, values in zip(column, zip(*found)):
        means = [mean(each) for each in values]
        ax.errorbar(
            at,
            [each.mean for each in means],
            [each.half_width for each in means],
            fmt=LOOKS[number],
            capsize=3,
            label=split,
        )


if __name__ == "__main__":
    figure, axes = plt.subplots(2, len(DAYS), figsize=(10, 5), layout="constrained")
    for name, column in zip(DAYS, axes.T):
        for number, (split, how) in enumerate(SPLITS.items()):
            print(f"{name}, {split}")
            found = [judged(tiled(name, tiles, *how)) for tiles in TILES]
            for tiles, (stays, missed) in zip(TILES, found):
                more = paired_difference(stays, found[0][0]) if tiles > 1 else None
                than = f", {told(more)} min more than whole" if more else ""
                print(
                    f"  {tiles}: {told(mean(stays))} min{than}; {told(mean(missed))} %"
                )
            draw(column, number, split, found)
        column[0].set_title(f"{name} day")
        column[1].set_xlabel("tiles of a frame")
        for ax in column:
            ax.set(xticks=TILES, ylim=(0, max(1.0, ax.get_ylim()[1])))
    axes[0, 0].set_ylabel("submission to end (min)")
    axes[1, 0].set_ylabel("missed deadlines (%)")
    lines = axes[0, 0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=len(SPLITS))
    figure.savefig(Path("figures") / "tiles.png", dpi=130)
