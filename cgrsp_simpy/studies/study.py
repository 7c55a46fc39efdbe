"""Studies: rows of figures per policy and seed, and statistics on the same seeds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cgrsp_simpy.analysis.statistics import (
    Mean,
    PairedTest,
    cluster_means,
    holm,
    mean,
    paired_difference,
    paired_test,
)
from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.policy import HoldsPolicies
from cgrsp_simpy.base.table import (
    Table,
    csv_text,
    digits,
    html_text,
    json_text,
    many,
    or_none,
    to_pandas,
    visible,
    write_csv,
)
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.studies.replicate import simulate_for_study
from cgrsp_simpy.studies.store import Store
from cgrsp_simpy.studies.subject import subject_of

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]
Value = TypeVar("Value")


class Results(Protocol):
    """Common methods of all studies."""

    @property
    def rows(self) -> list[Row]:
        """One dict per scenario, policy and seed; failed runs have "error"."""

    def as_dict(self) -> dict[str, Any]:
        """Return means and differences as plain values; an undefined value is None."""

    @property
    def failures(self) -> list[Row]:
        """The rows of failed runs, with their errors."""
        return [row for row in self.rows if "error" in row]

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to a CSV file; an existing one is overwritten."""
        write_csv(path, self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame; needs the extra "pandas"."""
        return to_pandas(self.rows)

    def to_json(self, path: str | Path) -> None:
        """Write means and differences to a JSON file; overwrite an existing one."""
        write_whole(Path(path), self.json().encode())

    def json(self) -> str:
        """Return means and differences as JSON."""
        return json_text(self.as_dict()) + "\n"

    @property
    def tables(self) -> list[Table]:
        """The results as tables."""

    @property
    def _held(self) -> str:
        """Scenario, policies and seeds on one line."""

    def __repr__(self) -> str:
        failed = f", {_failed(self)}," if self.failures else ""
        return visible(f"<{type(self).__name__}{failed} of {self._held}>")

    def __str__(self) -> str:
        failures = [visible(line) for line in failure_lines(self)]
        return "\n\n".join([*failures, *(table.text() for table in self.tables)])

    def _repr_html_(self) -> str:
        failures = [f"<p>{html_text(line)}</p>" for line in failure_lines(self)]
        return "".join([*failures, *(table.html() for table in self.tables)])

    def keep(self, store: Store | None) -> None:
        """Write rows and summary into a results directory, if there is one."""
        if store:
            store.write({"rows.csv": csv_text(self.rows), "summary.json": self.json()})


@dataclass(frozen=True, repr=False)
class Comparison(HoldsPolicies, Results):
    """Figures of several policies on the same seeds, tested against the first.

    One row per policy and seed. named: the policies by their labels.
    """

    scenario: Model
    named: dict[str, Any]
    _rows: list[Row]

    @property
    def _report(self) -> Report:
        return subject_of(self.scenario).report

    def run(self, policy: str, seed: int) -> Any:
        """Repeat the run of a row exactly, with records per job.

        policy: its label; InputError if unknown. seed: may be outside the study.
        """
        check_one_of("policy", policy, self.named)
        return simulate_for_study(self.scenario, self.named[policy], seed)

    def by(self, column: str) -> list[Row]:
        """Return the figures per value of a column of the log, such as a customer.

        Repeats the runs. One row per value and policy: by, value, policy, and means
        over the seeds of the figures of `Run.by`. Raises InputError for an unknown
        column, or jobs that do not come from a log.
        """
        return by_column(self.scenario, self.named, self.seeds, column)

    @property
    def policy_label(self) -> str:
        """The noun for a policy."""
        return str(self.scenario.policy_label)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Descriptions of the figures; their names if the model declares none."""
        return self._report.metrics or {
            name: Metric(name.replace("_", " ")) for name in self.figures
        }

    @property
    def shown(self) -> Sequence[str]:
        """The figures shown in the table."""
        return self._of_report(self._report.shown)

    @property
    def tested(self) -> Sequence[str]:
        """The figures tested against the first policy."""
        return self._of_report(self._report.tested)

    def _of_report(self, names: Sequence[str]) -> Sequence[str]:
        """Return the names; all figures instead if no run has any of these."""
        has_some = any(name in self.figures for name in names)
        return names if has_some or not self.figures else self.figures

    @property
    def title(self) -> str:
        """The name of the scenario."""
        return str(self.scenario.name)

    @property
    def note(self) -> str:
        """The scenario's note, followed by the policies with an infinite figure."""
        grows = [
            policy
            for policy, row in self.means().items()
            if any(math.isinf(row[name].mean) for name in self.shown if name in row)
        ]
        report = self._report
        meaning = report.infinite and grows and f"{', '.join(grows)}: {report.infinite}"
        return "\n".join(filter(None, [report.note, meaning or ""]))

    @property
    def common(self) -> str:
        """Noun for what runs of several seeds share; "" for independent seeds."""
        return subject_of(self.scenario).common

    @cached_property
    def clusters(self) -> list[int]:
        """Label per seed, equal for seeds that share data; else the seed itself."""
        return [subject_of(self.scenario).in_common(seed) for seed in self.seeds]

    @property
    def n(self) -> int:
        """Number of independent replications: seeds, or clusters of them."""
        return len(set(self.clusters))

    def independent(self, *values: Sequence[float]) -> list[list[float]]:
        """Return values per replication: means of clusters, or the values themselves.

        values: sequences by seed; a seed with a NaN in one is omitted from all.
        """
        if not self.common:
            return [list(column) for column in values]
        none = [any(map(math.isnan, row)) for row in zip(*values)]
        known = (
            [math.nan if is_missing else x for x, is_missing in zip(column, none)]
            for column in values
        )
        return [cluster_means(column, self.clusters) for column in known]

    @property
    def rows(self) -> list[Row]:
        """One dict per policy and seed: policy, seed and the figures."""
        return self._rows

    @property
    def policies(self) -> list[str]:
        """The policies in the order of the comparison."""
        return list(dict.fromkeys(row["policy"] for row in self.rows))

    @property
    def seeds(self) -> list[int]:
        """The seeds in the order of the comparison."""
        return list(dict.fromkeys(row["seed"] for row in self.rows))

    @property
    def figures(self) -> list[str]:
        """The names of the figures."""
        keys = dict.fromkeys(key for row in self.rows for key in row)
        return [key for key in keys if key not in ("policy", "seed", "error")]

    def values(self, policy: str, figure: str) -> list[float]:
        """Return a figure of a policy by seed, in the order of the seeds.

        NaN if the run failed; if it is infinite for one seed, infinite for all. policy:
        its label. Raises InputError for an unknown policy or figure.
        """
        check_one_of("policy", policy, self.policies)
        if self.figures:  # otherwise all runs have failed
            check_one_of("figure", figure, self.figures)
        return self._values(policy, figure)

    def _values(self, policy: str, figure: str) -> list[float]:
        values = [
            row.get(figure, math.nan) for row in self.rows if row["policy"] == policy
        ]
        return [math.inf] * len(values) if math.inf in values else values

    def means(self) -> dict[str, dict[str, Mean]]:
        """Return policy -> figure -> mean with 95 % interval; InputError for others."""
        figures = self.figures
        return _by_policy(
            {
                policy: {
                    name: mean(
                        self.independent(self._values(policy, name))[0],
                        in_order=bool(self.common),
                    )
                    for name in figures
                }
                for policy in self.policies
            }
        )

    def differences(self) -> dict[str, dict[str, Mean]]:
        """Return policy -> figure -> mean paired difference from the first policy."""
        return self._against_first(paired_difference)

    def tests(self) -> dict[str, dict[str, PairedTest]]:
        """Return policy -> figure -> paired tests against the first policy."""
        return self._against_first(paired_test)

    def _against_first(self, compared: Any) -> dict[str, dict[str, Any]]:
        first, *others = self.policies
        names = [name for name in self.tested if name in self.figures]
        return _by_policy(
            {
                policy: {
                    name: compared(
                        *self.independent(
                            self._values(policy, name), self._values(first, name)
                        ),
                        in_order=bool(self.common),
                    )
                    for name in names
                }
                for policy in others
            }
        )

    def as_dict(self) -> dict[str, Any]:
        content = {
            "subject": self.title,
            "parameters": {},
            "alternatives": self.policies,
            "seeds": self.seeds,
            "figures": [
                {
                    "alternative": policy,
                    **{name: plain_mean(value) for name, value in row.items()},
                }
                for policy, row in self.means().items()
            ],
            "differences": self._plain_tests(),
        }
        content = {**content, "failures": self.failures} if self.failures else content
        return dict(or_none(content))

    def _plain_tests(self) -> list[dict[str, Any]]:
        differences, tests = self.differences(), self.tests()
        adjusted = _holm(differences)
        return [
            {
                "alternative": policy,
                "from": self.policies[0],
                **{
                    name: {
                        **plain_mean(value),
                        **_plain_test(tests[policy][name]),
                        "p_holm": adjusted[policy][name],
                    }
                    for name, value in row.items()
                },
            }
            for policy, row in differences.items()
        ]

    @property
    def tables(self) -> list[Table]:
        """Means with 95 % intervals, and paired differences from the first policy."""
        count, title = self.n, f"{self.title}: {mean_of(self)}"
        shown = [name for name in self.shown if name in self.figures]
        means = [
            [policy] + [interval(row[name], count) for name in shown]
            for policy, row in self.means().items()
        ]
        tables = [Table(title, [[self.policy_label, *shown], *means], self.note)]
        if len(self.policies) > 1 and count > 1 and self.figures:
            tables.append(self._tests_shown())
        return tables

    @property
    def _held(self) -> str:
        policies = counted(self.policy_label, self.policies)
        return f"{self.title}: {policies}, {many(len(self.seeds), 'seed')}"

    def _tests_shown(self) -> Table:
        differences = self.differences()
        adjusted = _holm(differences)
        rows = [
            [policy]
            + [
                f"{interval(value, self.n, '+')} {stars(adjusted[policy][name])}"
                for name, value in row.items()
            ]
            for policy, row in differences.items()
        ]
        names = list(next(iter(differences.values())))
        family = sum(
            not math.isnan(p) for row in adjusted.values() for p in row.values()
        )
        pairs = min(value.n for row in differences.values() for value in row.values())
        heading = (
            f"difference from {self.policies[0]}, paired by seed{clustered(self)}"
            f" (t-tests, Holm over these {family}: * p < 0.05, ** p < 0.01, *** p <"
            " 0.001)"
        )
        few = "fewer than 5 pairs: the tests assume normality, which cannot be checked"
        columns = [self.policy_label, *(f"{name}    " for name in names)]
        return Table(heading, [columns, *rows], few if pairs < 5 else "")


def by_column(
    scenario: Model, named: Mapping[str, Any], seeds: Iterable[int], column: str
) -> list[Row]:
    """Return the rows of `Comparison.by`; named: policies by label."""
    subject_of(scenario).report.check_column(column)
    groups: dict[tuple[str, str], list[Row]] = {}
    for (name, policy), seed in itertools.product(named.items(), seeds):
        for row in simulate_for_study(scenario, policy, seed).by(column):
            value = row.pop(column)
            groups.setdefault((value, name), []).append(row)
    return [
        {
            "by": column,
            "value": value,
            "policy": name,
            **{figure: mean([row[figure] for row in rows]).mean for figure in rows[0]},
        }
        for (value, name), rows in sorted(groups.items(), key=lambda item: item[0])
    ]


class _Named(dict[str, Value]):
    """A dict that raises InputError for an unknown key. what: noun for a key."""

    def __init__(self, what: str, entries: Mapping[str, Value]) -> None:
        super().__init__(entries)
        self.what = what

    def __missing__(self, key: str) -> Value:
        check_one_of(self.what, key, self)
        raise KeyError(key)


def _by_policy(
    entries: Mapping[str, Mapping[str, Value]],
) -> dict[str, dict[str, Value]]:
    return _Named(
        "policy", {policy: _Named("figure", row) for policy, row in entries.items()}
    )


def mean_of(study: Comparison) -> str:
    """Return a description of the figures in a study's table."""
    seeds = len(study.seeds)
    text = f"{'mean of ' * (seeds > 1)}{many(seeds, 'seed')}{clustered(study)}"
    return (
        f"{text} ± 95 % half width"
        if study.n > 1
        else f"{text} (an interval needs two)"
    )


def clustered(study: Comparison) -> str:
    """Return the number of independent replications as text, "" if all seeds are."""
    return f", n = {many(study.n, study.common)}" if study.common else ""


def counted(noun: str, names: Sequence[str]) -> str:
    """Format a noun and its names; of six or more, their number and the first four."""
    plural = f"{noun.removesuffix('y')}{'ies' if noun.endswith('y') else 's'}"
    if len(names) == 1:
        return f"{noun} {names[0]}"
    few = ", ".join(names[:4])
    return f"{plural} {few}" if len(names) < 6 else f"{len(names)} {plural} {few}, ..."


def failure_lines(study: Results) -> list[str]:
    """Return a list of one line on failed runs, with the first error, or of none."""
    failures = study.failures
    if not failures:
        return []
    first = failures[0]
    where = f"{first['policy']}, seed {first['seed']}"
    return [f"{_failed(study)}; the first: {where}: {first['error']}"]


def _failed(study: Results) -> str:
    return f"{len(study.failures)} of {len(study.rows)} runs failed"


def interval(value: Mean, count: int, sign: str = "") -> str:
    """Format a mean and its half width, with n if it differs from `count`."""
    if math.isnan(value.mean):
        return "-"
    half = 0.0 if math.isnan(value.low) else value.half_width
    form = digits(max(abs(value.mean), half))
    text = f"{value.mean:{sign}z{form}}"
    if not math.isnan(value.low):
        text += f" ± {half:{form}}"
    return text if value.n == count else f"{text} (n {value.n})"


def _holm(differences: Mapping[str, Mapping[str, Mean]]) -> dict[str, dict[str, float]]:
    """Return p-values with Holm's adjustment over all tested policies and figures."""
    adjusted = iter(
        holm([value.p for row in differences.values() for value in row.values()])
    )
    return {
        policy: {name: next(adjusted) for name in row}
        for policy, row in differences.items()
    }


def stars(p: float) -> str:
    """Return the stars of a p-value, padded to three characters."""
    return f"{'*' * ((p < 0.05) + (p < 0.01) + (p < 0.001)):<3}"


def plain_mean(value: Mean) -> dict[str, Any]:
    """Return a mean for JSON."""
    return {"mean": value.mean, "ci95": [value.low, value.high], "n": value.n}


def _plain_test(test: PairedTest) -> dict[str, Any]:
    numbers = {
        name: getattr(test, name) for name in ("t", "p", "wilcoxon_p", "d", "d_paired")
    }
    return {**numbers, "note": test.note} if test.note else numbers
