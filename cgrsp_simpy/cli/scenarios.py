"""Scenarios from words: `hectic slots=7 terms.warm_s=60`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

from cgrsp_simpy import logs
from cgrsp_simpy.base import policy
from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_one_of,
    check_whole,
    require,
)
from cgrsp_simpy.base.files import faults_of, number_or_text, read_toml
from cgrsp_simpy.base.parameters import hints, options_of
from cgrsp_simpy.base.parts import part_of
from cgrsp_simpy.base.table import many
from cgrsp_simpy.cli.parsing import MODULES, SCENARIOS
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.logs import COLUMNS, Reading
from cgrsp_simpy.market.gpu import read_gpus
from cgrsp_simpy.rental.days import day, on_market, trace
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import DAYS, LoggedWorkload
from cgrsp_simpy.studies.subject import Parameter, subject_of

log = logging.getLogger(__name__)

FILES = {"trace", "instance", "orlib"}  # words that name files of jobs
VARIED = ("hgsp", "dag")  # scenarios with a variant behind a colon
MODULE = "module"
"""The key of a scenario file that names its module; files of rented slots have none."""
NAMES = (
    f"{', '.join(SCENARIOS).replace('rental', 'rental (with trace=LOG)')},"
    " hgsp:LEVEL, dag:GRAPH, FILE.toml or script.py:function"
)
RENTAL_NAMES = f"{', '.join(DAYS)}, rental with trace=LOG, or a scenario file FILE.toml"
OPTIONS = ("seeds", "seed", "policies", "policy", "workers", "engine", "out", "format")
BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
MARKET_WORDS = {
    "gpus.memory_gb": "Memory that each job needs, with gpus=FILE.csv.",
    "market": "Files of stock and prices, joined by +.",
    "market.TYPE": "Name of a GPU type in the market's files.",
}


class Words(dict[str, str]):
    """Values of words by name, as strings; used: names that `take` has read."""

    def __init__(self, words: Mapping[str, str]) -> None:
        super().__init__(words)
        self.used: set[str] = set()

    def take(self, name: str, keep: bool = False) -> str:
        """Remove a word, unless `keep`, and return its text, or ""."""
        self.used.add(name)
        return self.get(name, "") if keep else self.pop(name, "")

    def group(self, prefix: str, known: Any = None) -> dict[str, Any]:
        """Remove the words "prefix.NAME", and return their values by NAME.

        known: function or class that declares the allowed parameters.
        """
        names = [name for name in self if name.startswith(f"{prefix}.")]
        values = {name.partition(".")[2]: self.take(name) for name in names}
        if known is None:
            return values
        types = hints(known)
        names = [f"{prefix}.{name}" for name in types]
        for name in values:
            check_one_of("parameter", f"{prefix}.{name}", names)
        return {name: value_of(text, types[name]) for name, text in values.items()}


class Worded:
    """A scenario described by its name and words, which may have several values.

    scenario: the scenario with the first value of each word. grid: name of a word, or
    of a policy's parameter -> its values. names: full names of parameters.
    """

    def __init__(self, name: str, texts: Sequence[str]) -> None:
        self.name = name
        values = split(texts)
        first = {
            word: entries[0] for word, entries in values.items() if ":" not in word
        }
        words = Words(first)
        base = source_of(name, words)
        self._taken = first.keys() - words.keys()
        self._used = sorted(words.used & first.keys())
        self._bases = {tuple(first[word] for word in self._used): base}
        heads = [word for word in words if any(w.startswith(f"{word}.") for w in words)]
        subject = subject_of(base)
        if heads:  # parts whose parameters are given, too
            subject = subject_of(
                subject.varied(**{word: words[word] for word in heads})
            )
        for word in words:
            if word in OPTIONS and word not in subject.parameters:
                raise InputError(f"{word} is an option: --{word} {words[word]}")
        full = subject.full_names(words)
        hint = {word: subject.parameters[full[word]].hint for word in words}
        self.names = list(full.values())
        self.grid = {
            word: [
                text if word in self._taken else value_of(text, hint.get(word, Any))
                for text in entries
            ]
            for word, entries in values.items()
        }
        if policy.in_file(name) and _is_function(base):
            for word in words:
                for value in self.grid[word]:
                    _check_value(word, value, subject.parameters[full[word]])
        self.scenario = self.scenario_of(**{word: self.grid[word][0] for word in first})
        if isinstance(self.scenario, Scenario):
            _announce(self.scenario)
            if "gpus" in first and name.endswith(".toml"):
                log.info(
                    "%s: gpus=%s replaces its GPU types and their execution times",
                    *(name, first["gpus"]),
                )

    @property
    def parameters(self) -> dict[str, Any]:
        """The words with their values, for JSON."""
        return {
            word: values if len(values) > 1 else values[0]
            for word, values in self.grid.items()
        }

    def single(self, verb: str) -> Any:
        """Return the scenario; InputError if a word has several values."""
        for word, values in self.grid.items():
            require(
                ":" not in word,
                "parameter",
                word,
                "omitted: write parameters of policies as in --policies rh:reserve=2",
            )
            if len(values) > 1:
                text = f"{word}={','.join(map(word_of, values))}"
                raise InputError(
                    f"{text} must be one value for {verb}; to use several values,"
                    " run cgrsp"
                    f" sweep {self.name} {text}"
                )
        return self.scenario

    def scenario_of(self, **words: Any) -> Any:
        """Return the scenario with one value for each word."""
        key = tuple(str(words[word]) for word in self._used)
        if key not in self._bases:
            texts = {word: str(words[word]) for word in self._used}
            self._bases[key] = source_of(self.name, Words(texts))
        varied = {
            word: value for word, value in words.items() if word not in self._taken
        }
        base = self._bases[key]
        return subject_of(base).varied(**varied) if varied else base


# ---- where the jobs are from ----


def source_of(name: str, words: Words) -> Any:
    """Return the scenario with a name, and remove the words for the source of its jobs.

    Raises InputError for an unknown name, or an invalid file.
    """
    short, colon, variant = name.partition(":")
    require(bool(short and (variant or not colon)), "scenario", name, NAMES)
    if policy.in_file(name):
        return _of_script(name)
    if short.endswith(".toml"):
        return _on_market(from_file(Path(name)), words)
    names = (*SCENARIOS, "FILE.toml", "script.py:function")
    is_folder = short not in names and Path(name).is_dir()
    require(not is_folder, "scenario", name, f"a name or a file, not a folder: {NAMES}")
    check_one_of("scenario", short if short in VARIED else name, names)
    if name in DAYS:
        require(
            "trace" not in words,
            "parameter",
            "trace",
            "omitted with a day; to use a log, write rental trace=LOG",
        )
        return _on_market(day(words.take("name") or name), words)
    if name == "month":
        from cgrsp_simpy.decide.month import month  # loads SciPy

        return month()
    if name == "rental" or not FILES.isdisjoint(words):
        check_one_of("scenario that reads a file", short, READERS)
        for word in sorted(FILES.intersection(words)):
            check_one_of(
                "parameter",
                word,
                ("instance", "orlib") if short == "hgsp" else ("trace",),
            )
        return READERS[short](variant, words)
    for word in words:
        require(
            word.partition(".")[0] not in ("log", "qos"),
            "parameter",
            word,
            "given only together with trace=LOG",
        )
    return scenario_class(short)(*filter(None, [variant]))


def scenario_class(module: str) -> Any:
    """Return the class of the scenarios of a module."""
    return import_module(f"cgrsp_simpy.{module}.scenario").Scenario


def _of_script(name: str) -> Any:
    """Return the model that a script defines, as a function or a class."""
    require(":" in name, "scenario", name, "FILE.py:NAME")
    from cgrsp_simpy.studies.function import as_model, model

    scenario = as_model(policy.from_file("scenario", name))
    if isfunction(scenario):  # one without @cg.model
        scenario = as_model(model(scenario))
    if isinstance(scenario, type) and issubclass(scenario, Model):
        scenario = scenario()
    if not isinstance(scenario, Model):
        raise InputError(f"{name} must be a function, or a cgrsp_simpy.Model")
    return scenario


def _is_function(scenario: Any) -> bool:
    """Return whether a scenario is a function with `@cg.model`."""
    from cgrsp_simpy.studies.function import FunctionModel

    return isinstance(scenario, FunctionModel)


def _rental(variant: str, words: Words) -> Any:
    require(
        "trace" in words,
        "scenario",
        "rental",
        "given together with trace=LOG, a log of jobs",
    )
    scenario = trace(words.take("trace"), **_reading(words, class_column=str))
    return _on_market(scenario, words)


def _on_market(scenario: Any, words: Words) -> Any:
    """Return a scenario with GPU types, stock and prices from named files."""
    memory_gb = words.take("gpus.memory_gb")
    if memory_gb:
        least_gb = value_of(memory_gb, float)
        check_number("gpus.memory_gb", least_gb, least=0)
        require(
            words.get("gpus", "").endswith(".csv"),
            "parameter",
            "gpus.memory_gb",
            "given only together with gpus=FILE.csv",
        )
        gpus = read_gpus(words.take("gpus"), least_gb)
        scenario = subject_of(scenario).varied(gpus=gpus, slots=len(scenario.slots))
    files = words.take("market")
    if not files:
        return scenario
    require(
        isinstance(scenario, Scenario),
        "parameter",
        "market",
        "omitted unless the scenario has rented slots",
    )
    parameters = subject_of(scenario).parameters
    types = {
        word.partition(".")[2]: words.take(word)
        for word in [*words]
        if word.startswith("market.") and word not in parameters
    }
    # loads SciPy's solvers
    from cgrsp_simpy.market.measured import measured

    for key in ("persistence_s", "market.persistence_s"):
        require(
            key not in words,
            key,
            words.get(key),
            "omitted: the market files determine it",
        )
    if "gpus" in words:
        scenario = subject_of(scenario).varied(gpus=words.take("gpus"))
    return on_market(scenario, measured(*files.split("+")), types or None)


def _waiting(variant: str, words: Words) -> Any:
    from cgrsp_simpy.waiting.jobs import describe, read_jobs
    from cgrsp_simpy.waiting.machines import M5, read_sizes
    from cgrsp_simpy.waiting.scenario import Scenario

    sizes = words.take("sizes", keep=True)
    unit = (read_sizes(sizes) if sizes else M5)[0].unit
    how: dict[str, Any] = {
        "whole": "x" not in words.take("machines", keep=True),
        "unit": unit,
    }
    path = words.take("trace")
    jobs = read_jobs(path, **how, **_reading(words)).jobs
    log.info("%s: %s", path, describe(jobs, unit))
    if not jobs.run_s.any():
        raise InputError(
            f"{jobs.name}: the price per hour of work is undefined: its"
            " jobs run for 0 s"
        )
    return Scenario(jobs)


def _cluster(variant: str, words: Words) -> Any:
    from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER
    from cgrsp_simpy.cluster.logs import cluster_of, jobs_of, nodes_of
    from cgrsp_simpy.cluster.scenario import Scenario

    text, first, path = words.take("cluster"), words.take("jobs"), words.take("trace")
    ranks = words.group("qos")
    reading = _reading(words, skip_wide=bool)
    skip_wide = reading.pop("skip_wide", False)
    table = logs.read_log(path, **reading)
    nodes = nodes_of(text) if text else cluster_of(table)
    if nodes and not text:
        log.info(
            "%s: its header has %s on %s, which count as GPUs",
            *(path, many(nodes.gpus, "processor"), many(len(nodes.sizes), "node")),
        )
    nodes = nodes or PAPER_CLUSTER
    qos: dict[str, Any] = {name: number_or_text(rank) for name, rank in ranks.items()}
    jobs = jobs_of(table, nodes, skip_wide=skip_wide, qos=qos or None)
    if first:
        number = value_of(first, int)
        check_whole("jobs", number, least=1)
        jobs = jobs.chosen(range(min(number, jobs.jobs)), jobs.name)
    return Scenario(jobs, nodes)


def _hgsp(variant: str, words: Words) -> Any:
    from cgrsp_simpy.hgsp.instance import cluster, read_instance, read_orlib
    from cgrsp_simpy.hgsp.scenario import Scenario

    files = {word: words.take(word) for word in ("instance", "orlib") if word in words}
    sources = [*files, *([f"hgsp:{variant}"] if variant else [])]
    require(len(sources) <= 1, "sources of tasks", " and ".join(sources), "one source")
    if "orlib" in files:
        return Scenario(read_orlib(files["orlib"], **words.group("orlib", read_orlib)))
    gpus = cluster(words.take("instance.cluster") or "small")
    how = words.group("instance", read_instance)
    return Scenario(read_instance(files["instance"], gpus, **how))


def _llm(variant: str, words: Words) -> Any:
    from cgrsp_simpy.llm.requests import read_requests
    from cgrsp_simpy.llm.scenario import Scenario

    return Scenario(read_requests(words.take("trace"), **_reading(words, weight=str)))


def _spot(variant: str, words: Words) -> Any:
    from cgrsp_simpy.market.zones import read_traces
    from cgrsp_simpy.spot.scenario import Scenario

    paths = words.take("trace").split("+")
    return Scenario(read_traces(paths, **words.group("log", read_traces)))


READERS: dict[str, Callable[[str, Words], Any]] = {
    "rental": _rental,
    "waiting": _waiting,
    "cluster": _cluster,
    "hgsp": _hgsp,
    "llm": _llm,
    "spot": _spot,
}
"""Name of a scenario -> function that creates it from its variant and file words."""


def _reading(words: Words, **more: Any) -> dict[str, Any]:
    """Return the arguments for a log reader; more: types of additional arguments."""
    texts = words.group("log")
    known = {"format": str, "window": str, **hints(Reading), **more}
    del known["columns"]
    how = {
        name: value_of(texts.pop(name), kind)
        for name, kind in known.items()
        if name in texts
    }
    fields = [field.name for form in logs.FORMATS.values() for field in form.fields]
    names = [*COLUMNS, *fields]
    short = [name.removesuffix("_s").removesuffix("_gb") for name in names]
    allowed = [f"log.{name}" for name in dict.fromkeys([*known, *names, *short])]
    for name in texts:
        check_one_of("parameter", f"log.{name}", allowed)
    return {**how, "columns": texts}


def _announce(scenario: Scenario) -> None:
    """Log a summary of a job log, and the series that are too short for it."""
    if isinstance(scenario.workload, LoggedWorkload):
        log.info("%s", _summary(scenario, scenario.workload))
    for series in scenario.market.series:
        if series.length_s < scenario.jobs / scenario.workload.rate_per_s:
            log.info(
                "%s: the series of %.1f h is shorter than the run and is repeated",
                *(series.gpu, series.length_s / 3600),
            )


def _summary(scenario: Scenario, jobs: LoggedWorkload) -> str:
    """Summarise a job log: jobs, span, rate, service quantiles, offered load."""
    load = scenario.known().offered_load
    slots = f"on {many(len(scenario.slots), 'slot')}"
    span_h = (jobs.submit_s[-1] - jobs.submit_s[0]) / 3600
    span = f"{span_h:.1f} h" if span_h >= 0.1 else f"{3600 * span_h:.3g} s"
    pace = f", {jobs.rate_per_s * 3600:.1f} per hour" if span_h else ""
    median, ninety, most = np.quantile(jobs.service_s, [0.5, 0.9, 0.99])
    lead_h = jobs.submit_s[0] / 3600
    lead = f", the first {lead_h:,.1f} h after time 0" if lead_h > span_h > 0 else ""
    return (
        f"{scenario.name}: {many(jobs.jobs, 'job')} over"
        f" {span}{pace}{lead}; service median {median:.0f} s, 90 % {ninety:.0f} s, 99"
        f" % {most:.0f} s; "
        + (
            f"offered load {load:.3f} {slots} (execution time only)"
            if span_h
            else f"all at once, {slots}"
        )
    )


def from_file(path: Path) -> Any:
    """Read the scenario of any module from a TOML file."""
    with faults_of(path):
        table = read_toml(path)
        name = table.pop(MODULE, None)
        if name is not None:
            check_one_of(MODULE, name, MODULES)
            return part_of(scenario_class(name), table, "")
    return Scenario.from_toml(path)


# ---- words and values ----


def group_of(texts: list[str], prefix: str, owner: Any) -> dict[str, Any]:
    """Remove the words "prefix.NAME" from texts, and return their values by NAME.

    owner: the class that declares the parameters. Raises InputError for an unknown
    name, and for several values.
    """
    inside = [text for text in texts if text.startswith(f"{prefix}.")]
    texts[:] = [text for text in texts if text not in inside]
    words = split(inside)
    for word, values in words.items():
        require(len(values) == 1, word, ",".join(values), "one value")
    first = {word: values[0] for word, values in words.items()}
    return Words(first).group(prefix, owner)


def split(texts: Sequence[str]) -> dict[str, list[str]]:
    """Parse words such as "slots=5,7" to name -> values; InputError for another form.

    In "graph=er:n=60,degree=3" the last part belongs to the previous value. A single
    comma is a value, as in "log.decimal=,".
    """
    words: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        require(
            bool(name and equals and value),
            "parameter",
            text,
            "name=value, as in slots=7",
        )
        require(
            name not in words,
            "parameter",
            text,
            f"given only once, but {name} is given twice",
        )
        values: list[str] = []
        for part in [value] if value == "," else value.split(","):
            within = "=" in part and ":" not in part
            if values and within and ":" in values[-1]:
                values[-1] += f",{part}"
            else:
                values.append(part)
        words[name] = values
    return words


def value_of(text: str, hint: Any) -> Any:
    """Convert a text to a value for a parameter of a given type."""
    kinds = [*_kinds(hint)]
    entries = [kind for kind in kinds if isinstance(kind, tuple)]
    numbers = any(
        kind in (int, float) or isinstance(kind, tuple)
        for kind in (entries[0] if entries else ())
    )
    if text == "none" and NoneType in kinds:
        return None
    if text in BOOLEANS and (bool in kinds or Any in kinds):
        return BOOLEANS[text]
    if entries and "+" in text:
        entry = _entry if numbers else number_or_text
        return [entry(part) for part in text.split("+")]
    one_number = int in kinds or float in kinds
    if numbers and not one_number:
        return [_entry(text)]
    return text if str in kinds and not one_number else number_or_text(text)


def _entry(text: str) -> Any:
    """Convert an entry of a list: a number, several such as "0:2", a text."""
    first, *others = map(number_or_text, text.split(":"))
    texts = any(isinstance(part, str) for part in (first, *others))
    return (first, *others) if others and not texts else number_or_text(text)


def word_of(value: Any, joined: str = "+") -> str:
    """Format a value as in a word, which `value_of` reads; an empty list is "-"."""
    if isinstance(value, tuple | list):
        return joined.join(word_of(entry, ":") for entry in value) or "-"
    if isinstance(value, float):
        return f"{value:.12g}"
    text = " ".join(str(value).split())
    return text.lower() if isinstance(value, bool) or value is None else text


def _check_value(word: str, value: Any, item: Parameter) -> None:
    """Raise InputError for an invalid value of a function's parameter."""
    hint = item.hint
    kinds, options = {*_kinds(hint)}, options_of(hint)
    if options and not (value is None and NoneType in kinds):
        check_one_of(word, str(value), options)
    require(
        not callable(item.value),
        word,
        value,
        "omitted: functions can be passed only in Python",
    )
    simple = kinds - {NoneType}
    if not simple or not simple <= {bool, int, float}:
        return
    is_number = not isinstance(value, bool) and isinstance(value, int | float)
    numbers = not simple.isdisjoint({int, float})
    fits = type(value) in kinds or (numbers and is_number)
    require(fits, word, value, "a number" if numbers else "true or false")


def _kinds(hint: Any) -> Iterator[Any]:
    """Yield the types that a type allows; a tuple of types means a list."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _kinds(parts[0])
    elif origin in (Union, UnionType):
        for part in parts:
            yield from _kinds(part)
    elif origin is Literal:
        yield str
    elif hint in (tuple, list):
        yield int, float, str
    elif origin in (tuple, list, Sequence):
        yield tuple(kind for part in parts for kind in _kinds(part))
    else:
        yield hint
