"""The parser: helps that fit a screen, one way to name a thing, words of the last
release.
"""

import argparse
import re
import shutil
import sys

import pytest
from support import check_bad_input, outcome

from cgrsp_simpy.cli import make_parser
from cgrsp_simpy.cli.parsing import WIDTH

LINES, OPTIONS = 40, 451


def every(parser, path=()):
    """Each command, and each of its verbs: its words and its parser."""
    yield path, parser
    for each in parser._actions:
        if isinstance(each, argparse._SubParsersAction):
            for name, below in each.choices.items():
                yield from every(below, (*path, name))


ALL = dict(every(make_parser()))
LEAVES = {path: leaf for path, leaf in ALL.items() if leaf._subparsers is None}


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_a_help_fits_a_screen_and_all_of_it_says_more(path, capsys):
    brief, full = (
        outcome(capsys, *path, *more) for more in (["--help"], ["-h", "all"])
    )
    (status, short, err), long = brief, full[1]
    assert (status, err) == (0, "")
    assert short.startswith(f"usage: {' '.join(['cgrsp', *path])}")
    assert len(short.splitlines()) <= LINES
    assert max(map(len, [*short.splitlines(), *long.splitlines()])) <= WIDTH
    assert all(
        name in short
        for each in ALL[path]._actions
        for name in each.option_strings[-1:]
    )
    # of common options the line may be broken otherwise
    assert len(long) >= len(short) - 100


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("cluster replay", "LOG [options]"),
        ("run", "[FILE.toml] [options]"),
        ("waiting analyze", "--policy P [options]"),
    ],
)
def test_a_usage_puts_brackets_about_what_may_be_left_out_alone(line, usage, capsys):
    out = outcome(capsys, *line.split(), "--help")[1]
    assert out.startswith(f"usage: cgrsp {line} {usage}\n")


def test_a_help_names_no_option_that_there_is_not(capsys):
    known = {name for parser in ALL.values() for name in parser._option_string_actions}
    for path in ALL:
        told = re.findall(
            r"(?<![\w-])--[a-z][a-z-]*", outcome(capsys, *path, "-h", "all")[1]
        )
        assert known.issuperset(told), path


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_says_what_it_is(path):
    for each in LEAVES[path]._actions:
        assert each.help, each.option_strings
        assert not re.search(r":$|`|\[\d\]_", each.help, re.M), each.help
        assert "_" not in "".join(each.option_strings)


def test_there_are_few_options():
    assert (
        sum(
            len([a for a in leaf._actions if a.option_strings]) - 1
            for leaf in ALL.values()
        )
        <= OPTIONS
    )


def test_a_verb_of_one_module_is_the_same_in_another():
    """Who knows the options of one comparison knows those of the others, but for the
    scenario.
    """
    for verb, own in (
        ("compare", {"--policies", "--seeds", "--out", "--by", "--precision"}),
        ("run", {"--policy", "--seed", "--by", "--show"}),
        ("sweep", {"--policies", "--seeds", "--out"}),
    ):
        for path, leaf in LEAVES.items():
            if path[-1] == verb:
                assert own <= set(leaf._option_string_actions), path


def test_the_options_of_every_command_may_stand_anywhere(capsys):
    words = ["run", "--day", "quiet", "--jobs", "3", "--policy", "spt"]
    first = outcome(capsys, "--format", "json", *words)
    assert first[0] == 0
    assert outcome(capsys, *words, "--format=json") == first
    assert (
        outcome(
            capsys, *words[:1], "--yes", "--format", "json", "--large-files", *words[1:]
        )
        == first
    )


def test_words_are_not_abbreviated(capsys):
    """`--seed` of a comparison would else be taken for its number of seeds."""
    check_bad_input(
        outcome(capsys, "compare", "--seed", "3"), ["--seed", "mean '--seeds'"]
    )


@pytest.mark.parametrize("seeds", ["5:3", "5:5", "-2:3"])
def test_seeds_that_are_none_are_told_as_they_were_given(seeds, capsys):
    check_bad_input(
        outcome(capsys, "compare", f"--seeds={seeds}"), [f"{seeds!r}", "FROM:TO"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_a_script_of_the_shell(shell, capsys):
    pytest.importorskip("shtab")
    status, out, err = outcome(capsys, "--completion", shell)
    assert (status, err) == (0, "")
    assert "--policies" in out and "waiting" in out
    if (program := shutil.which(shell)) is not None:
        import subprocess

        subprocess.run([program, "-n"], input=out, text=True, check=True)


def test_completion_without_its_library_names_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    check_bad_input(outcome(capsys, "--completion", "bash"), ["shtab", "completion"])


PATHS = [
    [*path, f"{action.option_strings[0]}="]
    for path, leaf in LEAVES.items()
    for action in leaf._actions
    if action.option_strings and re.match("DIR|FILE|FOLDER|STEM", str(action.metavar))
]


@pytest.mark.parametrize(
    "words", [*PATHS, ["redraw", ""], ["verify", ""], ["sample", ""]], ids=" ".join
)
def test_an_empty_path_is_refused(words, capsys):
    check_bad_input(outcome(capsys, *words), ["must not be empty"])


def test_an_error_shows_control_characters(capsys):
    check_bad_input(
        outcome(capsys, "policies", "--\x1b[31m\u202e"), [r"--\x1b[31m\u202e"]
    )
