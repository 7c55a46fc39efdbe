"""Lectures in the browser: copied files of Pyodide, errors, and a built folder that
holds all it refers to.
"""

import bz2
import hashlib
import inspect
import io
import json
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import requires, version
from pathlib import Path

import numpy as np
import pytest
from support import check_bad_input, check_refused, outcome

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.engine import policy_caller
from cgrsp_simpy.exercises import browser
from cgrsp_simpy.studies import function

LECTURES = Path(__file__).parents[2] / "scenarios" / "lectures"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def zipped(name):
    """The content of an archive with one module."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        module = zipfile.ZipInfo(f"{name.replace('-', '_')}.py")  # with a fixed time
        archive.writestr(module, f"NAME = {name!r}\n")
    return file.getvalue()


def distribution(version=browser.PYODIDE):
    """A small Pyodide distribution: name -> content. ssl needs openssl_lib."""
    files = {name: name.encode() for name in browser.CORE}
    files["python_stdlib.zip"] = zipped("library")
    packages = {}
    for name in (*browser.PACKAGES, "openssl-lib", "unneeded"):
        file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
        files[file] = zipped(name)
        packages[name] = {
            "file_name": file,
            "sha256": hashlib.sha256(files[file]).hexdigest(),
            "depends": ["openssl_lib"] if name == "ssl" else [],
        }
    lock = {"info": {"version": version}, "packages": packages}
    return {**files, browser.LOCK: json.dumps(lock).encode()}


def unpacked(files, folder):
    """Write the files into a new folder; return it."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def archived(files, path):
    """Write the archive of the files as the Pyodide project does; return its path."""
    with tarfile.open(path, "w:bz2") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"pyodide/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def copied(path, folder):
    """The names of the files that are copied from a distribution."""
    browser.copy_pyodide(path, folder)
    site = folder / "static" / "pyodide"
    return {file.name: file.read_bytes() for file in site.iterdir()}


@pytest.mark.parametrize("kind", [unpacked, archived])
def test_the_files_of_a_distribution_needed_by_lectures_are_copied(
    tmp_path, kind, monkeypatch
):
    monkeypatch.setattr(browser, "PYTHON", (3, 0))  # not the one that runs the tests
    files = distribution()
    path = kind(files, tmp_path / f"pyodide-{browser.PYODIDE}.tar.bz2")
    (tmp_path / "site").mkdir()
    result = copied(path, tmp_path / "site")
    assert files.pop("unneeded-1.0-py3-none-any.whl")
    assert result == files  # with openssl-lib, on which ssl depends


def test_byte_code_is_added_by_the_python_of_the_browser(tmp_path, monkeypatch):
    """It replaces the sources, and checksums are of the new wheels."""
    monkeypatch.setattr(browser, "PYTHON", sys.version_info[:2])
    path = unpacked(distribution(), tmp_path / "pyodide")
    (tmp_path / "site").mkdir()
    files = copied(path, tmp_path / "site")
    for entry in json.loads(files[browser.LOCK])["packages"].values():
        content = files.get(entry["file_name"], zipped("unneeded"))
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
    site = tmp_path / "site/static/pyodide"
    shutil.unpack_archive(site / "numpy-1.0-py3-none-any.whl", tmp_path / "new", "zip")
    for folder, module in ((tmp_path / "new", "numpy"), (site, "library")):
        place = folder / "python_stdlib.zip" if folder == site else folder
        words = f"import sys; sys.path.insert(0, {str(place)!r}); import {module} as m"
        words += "; print(m.NAME, m.__file__)"
        words = [sys.executable, "-c", words]
        answer = subprocess.run(words, capture_output=True, text=True, check=True)
        assert answer.stdout.startswith(module)
        assert answer.stdout.strip().endswith(".pyc")


WHEEL = "numpy-1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        (lambda files: distribution("0.26.0"), "'0.26.0'"),
        (lambda files: {name: files[name] for name in {*files} - {WHEEL}}, WHEEL),
        (lambda files: files | {WHEEL: b"something else"}, WHEEL),
        (
            lambda files: {name: files[name] for name in {*files} - {browser.LOCK}},
            "pyodide-lock.json",
        ),
        (lambda files: files | {browser.LOCK: b"{"}, "Expecting property name"),
        (
            lambda files: files | {browser.LOCK: b'{"info": {"version": "0.27.7"}}'},
            "'packages'",
        ),
    ],
    ids=["version", "missing", "checksum", "no lock", "broken lock", "no packages"],
)
def test_a_wrong_distribution_is_rejected_with_the_reason(tmp_path, spoiled, message):
    path = unpacked(spoiled(distribution()), tmp_path / "pyodide")
    (tmp_path / "site").mkdir()
    text = check_refused(lambda: browser.copy_pyodide(path, tmp_path / "site"), [])
    assert text.startswith(f"--pyodide {path} must be the archive pyodide-0.27.7.tar")
    assert message in text.partition("or the folder in it: ")[2]


@pytest.mark.parametrize(
    "content",
    [
        lambda path: b"",
        lambda path: b"no archive",
        lambda path: bz2.compress(b"no tar file")[:-4],
        lambda path: archived(distribution(), path).read_bytes()[:-40],
    ],
    ids=["nothing", "no archive", "a cut file", "a cut archive"],
)
def test_an_incomplete_archive_is_rejected(tmp_path, content):
    path = tmp_path / "pyodide.tar.bz2"
    path.write_bytes(content(path))
    check_refused(
        lambda: browser.copy_pyodide(path, tmp_path), ["must be the archive pyodide-"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--browser", "DIR"], "give --browser and --pyodide together"),
        (["--pyodide", "DIR"], "give --browser and --pyodide together"),
        (["3", "--browser", "DIR", "--pyodide", "DIR"], "without other options"),
        (
            ["--copy", "DIR", "--browser", "DIR", "--pyodide", "DIR"],
            "without other options",
        ),
        (["--browser", "FULL", "--pyodide", "DIR"], "must be an empty or a new folder"),
        (["--browser", "FILE", "--pyodide", "DIR"], "file is not a directory"),
        (["--browser", "DIR", "--pyodide", "nowhere"], "must be the archive pyodide-"),
    ],
)
def test_invalid_calls_are_rejected_and_nothing_is_written(
    tmp_path, capsys, monkeypatch, words, message
):
    monkeypatch.setattr(browser, "needed", lambda module, text: None)
    paths = {name: tmp_path / name.lower() for name in ("DIR", "FULL", "FILE")}
    paths["FULL"].mkdir()
    for path in (paths["FULL"] / "mine.txt", paths["FILE"]):
        path.write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    check_bad_input(
        outcome(capsys, "lectures", *(str(paths.get(word, word)) for word in words)),
        [message],
    )
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("module", "words"),
    [(None, "extra teach: pip install"), (sys, "cannot build the website: disk full")],
)
def test_a_jupyterlite_that_is_missing_or_fails_is_one_line(
    module, words, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jupyterlite_pyodide_kernel", module)
    monkeypatch.setattr(browser, "PACKED", ())
    monkeypatch.setattr(browser, "BUILD", "-c exit('lines\\ndisk\\x20full')")
    check_refused(lambda: browser.write(tmp_path / "site", [], None), [words])
    assert not (tmp_path / "site").exists()


def test_each_requirement_is_packed_or_comes_with_pyodide():
    """A marker limits a requirement to an extra, or to where processes start."""
    names = [
        re.split(r"[^\w-]", line)[0]
        for line in requires("cgrsp_simpy")
        if ";" not in line
    ]
    assert {"numpy", "simpy"} <= set(names) <= {*browser.PACKAGES, *browser.PACKED}


def test_a_wheel_holds_the_package_with_its_data(tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "PYTHON", (3, 0))  # another one compiles nothing
    browser.write_wheel("cgrsp_simpy", tmp_path / "pypi")
    [path] = (tmp_path / "pypi").iterdir()
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        [metadata] = [name for name in names if name.endswith("dist-info/METADATA")]
        assert b"Name: cgrsp_simpy" in wheel.read(metadata)
    package = Path(cg.__file__).parent
    files = {path for path in package.rglob("*") if path.is_file()}
    expected = {str(path.relative_to(package.parent)) for path in files}
    held = {name for name in names if "dist-info" not in name}
    assert held == {path for path in expected if "__pycache__" not in path}
    assert "cgrsp_simpy/data/event_list.html" in names
    assert path.name.endswith("-py3-none-any.whl")


def test_requests_have_indexes_of_the_platforms_width(monkeypatch):
    """A browser's Python has 32 bits; NumPy counts no wider integers there."""
    monkeypatch.setattr(np, "intp", np.int32)
    request = runpy.run_path(function.__file__)["REQUEST"]
    assert request["job"] == np.int32


def test_the_standard_library_is_recognised_by_its_files(monkeypatch):
    """In a browser, sysconfig's paths are not those of the files."""
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "//lib/python3.12")
    is_library = runpy.run_path(policy_caller.__file__)["is_library"]
    assert is_library(Path(inspect.__file__))
    assert not is_library(Path("/home/run/policy.py"))


def test_a_folder_is_built_of_notebooks_settings_and_wheels(
    tmp_path, monkeypatch, notebooks
):
    """The build that changes no file."""
    calls, site = [], tmp_path / "site"

    def build(words, cwd, **how):
        calls.append((words[0], words[-1], how))
        shutil.copytree(cwd, cwd / "_output")
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(subprocess, "run", build)
    monkeypatch.setattr(browser, "PACKED", ("simpy", "simpy"))  # into one folder
    monkeypatch.setattr(browser, "PYTHON", sys.version_info[:2])
    monkeypatch.setitem(sys.modules, "jupyterlite_pyodide_kernel", browser)
    pyodide = unpacked(distribution(), tmp_path / "pyodide")
    browser.write(site, [LECTURES / "lab_own_log.py"], pyodide)
    how = {"capture_output": True, "text": True}
    assert calls == [(sys.executable, "--log-level=ERROR", how)]
    paths = {path.relative_to(site) for path in site.rglob("*") if path.is_file()}
    static = {path for path in paths if path.parts[0] == "static"}
    wheel = f"pypi/simpy-{version('simpy')}-py3-none-any.whl"
    assert len(static) == len(distribution()) - 1
    assert {str(path) for path in paths - static} == {
        *("index.html", "jupyter-lite.json", "files/lab_own_log.ipynb", wheel)
    }
    assert {*zipfile.ZipFile(site / wheel).namelist()} >= {
        *("simpy/core.py", f"simpy/__pycache__/core.{sys.implementation.cache_tag}.pyc")
    }
    cells = json.loads((site / "files/lab_own_log.ipynb").read_text())["cells"]
    first, second = ("".join(cell["source"]) for cell in cells[:2])
    assert (first, second[:7]) == ("%pip install -q cgrsp_simpy", "# Lab: ")


class Quiet(SimpleHTTPRequestHandler):
    """Serve files, and log nothing."""

    def log_message(self, *words):
        pass


def shown(address):
    """The page of an address in Chromium, which reaches no other computer."""
    words = [BROWSER, *OPTIONS, "--dump-dom", address]
    return subprocess.run(words, capture_output=True, text=True, timeout=120).stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory, teach):
    """The folder that the command builds with a small distribution."""
    folder = tmp_path_factory.mktemp("browser")
    pyodide = unpacked(distribution(), folder / "pyodide")
    words = ["lectures", "--browser", str(folder / "site"), "--pyodide", str(pyodide)]
    assert main(words) == 0
    return folder / "site"


@pytest.mark.slow
def test_the_folder_has_each_lecture_and_its_wheels_and_names_no_other_host(site):
    listed = json.loads((site / "api/contents/all.json").read_text("utf-8"))["content"]
    lectures = {script.stem for script in LECTURES.glob("*.py")}
    assert {Path(item["path"]).stem for item in listed} == lectures
    for item in listed:
        notebook = json.loads((site / "files" / item["path"]).read_text("utf-8"))
        assert notebook["metadata"]["kernelspec"]["name"] == "python"
    config = json.loads((site / "jupyter-lite.json").read_text("utf-8"))
    plugins = config["jupyter-config-data"]["litePluginSettings"]
    settings = plugins["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert settings["pyodideUrl"] == "./static/pyodide/pyodide.js"
    assert settings["disablePyPIFallback"] is True
    assert "://" not in json.dumps(config["jupyter-config-data"])
    index = json.loads((site / "pypi/all.json").read_text("utf-8"))
    assert {name.replace("-", "_") for name in index} == set(browser.PACKED)
    assert "://" not in json.dumps([item["releases"] for item in index.values()])


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_the_index_page_lists_the_lectures_or_asks_for_a_server(site):
    titles = [
        re.search(r"(?:Lecture \d+|Lab): [^)]*", script.read_text("utf-8"))[0]
        for script in sorted(LECTURES.glob("*.py"))
    ]
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page = shown(f"http://127.0.0.1:{server.server_port}/")
    finally:
        server.shutdown()
        server.server_close()
    links = re.findall(
        r'<a href="notebooks/index.html\?path=\w+.ipynb">(.*?)</a>', page
    )
    assert links == [" ".join(title.split()) for title in titles]
    assert 'id="unserved" hidden' in page
    assert 'id="unserved">' in shown(f"file://{site}/index.html")
