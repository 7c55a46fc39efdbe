"""Options made from the parameters of classes and functions: name, kind, default and
help are theirs. A parameter that is a dataclass itself is one option of pairs: --terms
warm_s=60,retry_s=30.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import partial
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from cgrsp_simpy.base import parameters
from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.policy import READERS, pairs

# Kind -> what reads it from a text, and what is allowed.
KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    **READERS,
    bool: (
        {"yes": True, "no": False, "true": True, "false": False}.__getitem__,
        "yes or no",
    ),
    tuple: (lambda text: tuple(map(float, text.split(":"))), "numbers, such as 1:2"),
}
METAVARS = {int: "N", float: "X", str: "NAME", tuple: "X:X,"}


class Field(NamedTuple):
    """A parameter: what its docstring tells of it, and of which of KINDS, or which
    dataclass, it is.
    """

    name: str
    kind: Any
    told: str = ""
    default: Any = None

    @property
    def help(self) -> str:
        """What is told, with the default unless that is nothing."""
        plain = isinstance(self.default, int | float | str) and not isinstance(
            self.default, bool
        )
        shown = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{self.told}{f' (default: {shown})' if plain and shown != '' else ''}"


def fields_of(source: Callable[..., Any], *names: str) -> dict[str, Field]:
    """The parameters of a class or a function that a text can give; some of them, if
    named.
    """
    meanings, options = meanings_of(source), {}
    for name, item in inspect.signature(source, eval_str=True).parameters.items():
        if (kind := _kind(item.annotation)) and (name in names or not names):
            default = None if item.default is item.empty else item.default
            options[name] = Field(name, kind, meanings.get(name, ""), default)
    return options


def _kind(hint: Any) -> Any:
    """The first of a union that a text can give."""
    if get_origin(hint) is Annotated:
        return _kind(get_args(hint)[0])
    if get_origin(hint) is Literal:
        return str
    if hint in READERS or is_dataclass(hint):
        return hint
    if get_origin(hint) is tuple:
        return tuple if _kind(get_args(hint)[0]) is float else None
    inner = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    return next(filter(None, map(_kind, inner)), None)


def meanings_of(source: Callable[..., Any]) -> dict[str, str]:
    """Return the meaning per parameter: as it is declared, or else as the docstring
    describes it, in a section or as "name: text.", one line each, without marks of
    reStructuredText.
    """
    declared = parameters.meanings(source) if is_dataclass(source) else {}
    prose, _, section = (inspect.getdoc(source) or "").partition(
        "\nParameters\n----------\n"
    )
    section = re.split(r"\n\n?\w+\n-+\n", section)[0]
    entries = re.findall(
        r"^(\w[^:\n]*)(?: :.*)?\n((?:(?: .*)?(?:\n|\Z))+)", section, re.M
    )
    _, *parts = re.split(r"(?<=\. )(\w+(?:, \w+)*): ", " ".join(prose.split()))
    described = [*zip(parts[::2], parts[1::2]), *entries, *declared.items()]
    return {
        name: re.sub(r" \[\d+\]_|`| Raises .*", "", " ".join(text.split()))
        for names, text in described
        for name in names.split(", ")
    }


def flag(option: str) -> str:
    """An option as it is given on the command line."""
    return f"--{option.replace('_', '-')}"


def add_fields(
    parser: argparse._ActionsContainer,
    made: Callable[..., Any],
    *names: str,
    **more: str | Iterable[str],
) -> None:
    """Add an option for each of these parameters; it is None where it is not given.

    more: by parameter what the help says beside, or the names to choose from.
    """
    for name, item in fields_of(made, *names).items():
        beside = more.get(name, "")
        text = beside if isinstance(beside, str) else ", ".join(beside)
        told = item.told.rstrip(".")
        told = (
            f"{told}{' ' if text.startswith('(') else '; '}{text}"
            if text and told
            else told
        )
        if is_dataclass(item.kind):
            kind: Any = item.kind
            add_pairs(parser, name, fields_of(kind), told)
            continue
        own: dict[str, Any] = {"action": "store_const", "const": True}
        if item.kind is not bool:
            read = checked(KINDS[tuple][0]) if item.kind is tuple else item.kind
            own = {"type": read, "metavar": METAVARS[item.kind]}
        text = item._replace(told=told).help
        parser.add_argument(flag(name), help=text.replace("%", "%%"), **own)


def add_pairs(
    parser: argparse._ActionsContainer,
    option: str,
    known: Mapping[str, Field],
    told: str = "",
    read: Callable[[str], Any] | None = None,
) -> None:
    """Add an option of pairs, which gives a dict.

    told: what the help says behind their names. read: what reads the text, unless that
    is `pairs_of`.
    """
    text = (
        f"{'; '.join([', '.join(known), *filter(None, [told])])}\n{fields_text(known)}"
    )
    parser.add_argument(
        flag(option),
        type=checked(read or partial(pairs_of, known)),
        action=Pairs,
        metavar="A=X,B=Y",
        help=text.replace("%", "%%"),
    )


class Pairs(argparse.Action):
    """Keeps the pairs of an option, which may be given again for others."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        held = getattr(namespace, self.dest) or {}
        both = isinstance(values, dict) and isinstance(held, dict)
        if held and (not both or held.keys() & values):
            twice = (
                ", ".join(name for name in values if name in held) if both else values
            )
            raise argparse.ArgumentError(self, f"{twice} is given twice")
        setattr(namespace, self.dest, {**held, **values} if both else values)


def fields_text(known: Mapping[str, Field]) -> str:
    """Return what a help page shows of name=value pairs, one line per name."""
    return "\n".join(f"  {item.name}: {item.help}" for item in known.values())


def pairs_of(known: Mapping[str, Field], text: str) -> dict[str, Any]:
    """The values by name in "warm_s=60,retry_s=30", each of its kind."""

    def kind(name: str) -> tuple[Callable[[str], Any], str]:
        check_one_of("name", name, known)
        return KINDS[known[name].kind]

    return pairs(text.split(","), kind, f"name=value, such as {next(iter(known))}=...")


def named_pairs(known: Mapping[str, Field], text: str) -> tuple[str, dict[str, Any]]:
    """A name, or a file, and the pairs behind it: "tasks1:tasks=9,load=0.8"."""
    matched = re.fullmatch(r"(.*?)(?::(\w+=.*))?", text, re.S)
    name, pairs = matched.groups()  # type: ignore[union-attr]
    return name, pairs_of(known, pairs) if pairs else {}


def checked(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """What reads an option's text, with errors as argparse tells them."""

    def one(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return one


def given_of(given: argparse.Namespace, *options: str) -> dict[str, Any]:
    """The values of those of the options that are given."""
    values = {option: getattr(given, option, None) for option in options}
    return {name: value for name, value in values.items() if value is not None}
