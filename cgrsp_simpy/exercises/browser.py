"""Lectures in the browser: a folder with JupyterLite that needs no network.

Python runs in the browser as Pyodide, whose packages are copied from its distribution
and verified by checksums. The first cell of each notebook installs those that the
kernel has not loaded, including the wheels packed here.
"""

from __future__ import annotations

import compileall
import json
import py_compile
import shutil
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from cgrsp_simpy.base.checks import InputError, needed, require
from cgrsp_simpy.base.files import write_files, write_whole
from cgrsp_simpy.exercises.pages import notebook_text

EXTRA = 'the browser needs the extra teach: pip install ".[teach]" in a clone'
PYODIDE = "0.27.7"  # the version for the pinned jupyterlite-pyodide-kernel
PYTHON = (3, 12)  # the version in this Pyodide
LOCK = "pyodide-lock.json"
CORE = (LOCK, "pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
LOADED = ("ipython", "jedi", "micropip", "sqlite3", "ssl")  # used by the kernel
PACKAGES = (  # these, and the requirements of this package
    *(*LOADED, "packaging", "cloudpickle", "matplotlib", "numpy", "pydantic-core"),
    *("scipy", "tqdm", "typing-extensions"),
)
PACKED = ("cgrsp_simpy", "simpy", "comm")  # pure Python, and not in Pyodide
SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {
        "litePluginSettings": {
            "@jupyterlite/pyodide-kernel-extension:kernel": {
                # the build replaces it if a distribution is in static/pyodide
                "pyodideUrl": f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/pyodide.js",
                "disablePyPIFallback": True,
                # at once, while Python starts: the kernel loads them one by one
                "loadPyodideOptions": {"packages": LOADED},
            }
        }
    },
}
BUILD = "-W ignore -m jupyterlite_core build --apps=notebooks --no-sourcemaps"
PAGE = Path(__file__).with_name("browser.html")


def write(folder: Path, scripts: list[Path], pyodide: Path | None) -> None:
    """Write lectures as notebooks that run in the browser, with an index page.

    folder: empty or new. pyodide: a distribution, unpacked or as an archive; with None,
    notebooks load it from its content delivery network. Invalid input raises InputError
    before anything is written.
    """
    is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    require(is_free, "--browser", str(folder), "an empty or a new folder")
    needed("jupyterlite_pyodide_kernel", EXTRA)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        if pyodide is not None:
            copy_pyodide(pyodide, source)
        for package in PACKED:
            write_wheel(package, source / "pypi")
        for script in scripts:
            notebook = json.loads(notebook_text(script.read_text(encoding="utf-8")))
            notebook["cells"][0]["source"] = "%pip install -q cgrsp_simpy"
            notebook["metadata"]["kernelspec"]["name"] = "python"
            content = json.dumps(notebook).encode()
            write_whole(source / "files" / f"{script.stem}.ipynb", content)
        write_whole(source / "jupyter-lite.json", json.dumps(SETTINGS).encode())
        words = [sys.executable, *BUILD.split(), "--log-level=ERROR"]
        build = subprocess.run(words, cwd=source, capture_output=True, text=True)
        if build.returncode:
            *_, reason = "no message", *build.stderr.strip().splitlines()
            raise InputError(f"JupyterLite cannot build the website: {reason}")
        site = source / "_output"
        shutil.copyfile(PAGE, site / "index.html")
        write_files(
            {
                folder / path.relative_to(site): path.read_bytes()
                for path in site.rglob("*")
                if path.is_file()
            }
        )


def write_wheel(package: str, folder: Path) -> None:
    """Write the wheel of an installed pure-Python package."""
    path = Path(needed(package, EXTRA).__file__).parent
    metadata = distribution(package)
    stem = f"{package}-{metadata.version}"
    folder.mkdir(exist_ok=True)
    archive = folder / f"{stem}-py3-none-any.whl"
    with ZipFile(archive, "w", ZIP_DEFLATED) as wheel:
        for file in sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(path.parent))
        for name in ("METADATA", "WHEEL"):
            wheel.writestr(f"{stem}.dist-info/{name}", metadata.read_text(name) or "")
    _compile(archive, sources=True)  # for the lines of the event list


def _compile(archive: Path, sources: bool) -> None:
    """Compile the modules in an archive if this Python has Pyodide's version.

    Otherwise the browser compiles every module that a lecture imports. sources: whether
    to keep the sources, which makes unpacking slower.
    """
    if sys.version_info[:2] != PYTHON:
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder, "zip")
        compileall.compile_dir(
            folder,
            quiet=2,
            stripdir=folder,
            prependdir="/lib/python312.zip",  # imports from a folder replace this
            legacy=not sources,  # in place of the source
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        for module in () if sources else Path(folder).rglob("*.py"):
            if module.with_suffix(".pyc").exists():
                module.unlink()
        shutil.move(shutil.make_archive(f"{archive}", "zip", folder), archive)


def copy_pyodide(path: Path, source: Path) -> None:
    """Copy Pyodide's core and the required packages with their dependencies."""
    site = source / "static" / "pyodide"
    try:
        if path.is_file():
            how = dict[str, Any]()
            if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
                how["filter"] = "data"
            shutil.unpack_archive(path, source, **how)
        unpacked = source / "pyodide" if path.is_file() else path
        lock = json.loads((unpacked / LOCK).read_text(encoding="utf-8"))
        version, entries, names = lock["info"]["version"], lock["packages"], [*PACKAGES]
        require(version == PYODIDE, "version", version, PYODIDE)
        for name in names:  # grows by what each depends on
            depends = {part.replace("_", "-") for part in entries[name]["depends"]}
            names += sorted(depends.difference(names))
        files = {entries[name]["file_name"]: entries[name] for name in names}
        for file in (*CORE, *files):
            content = (unpacked / file).read_bytes()
            is_right = (
                file in CORE or files[file]["sha256"] == sha256(content).hexdigest()
            )
            require(is_right, "file", file, f"the one with the checksum in {LOCK}")
            write_whole(site / file, content)
            if file.endswith((".whl", ".zip")):
                _compile(site / file, sources=False)
            files.get(file, {})["sha256"] = sha256(
                (site / file).read_bytes()
            ).hexdigest()
        write_whole(site / LOCK, json.dumps(lock).encode())
    except (OSError, EOFError, KeyError, ValueError) as error:
        raise InputError(
            f"--pyodide {path} must be the archive pyodide-{PYODIDE}.tar.bz2 of"
            " https://github.com/pyodide/pyodide/releases, or the folder in it:"
            f" {error}"
        ) from error
