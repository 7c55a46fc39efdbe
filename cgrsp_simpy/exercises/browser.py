"""The lectures in the browser: a folder with JupyterLite that needs no network.

Python runs in the browser as Pyodide. The packages that the lectures need are copied
from a distribution of the Pyodide project and verified by its checksums. The first cell
of each notebook installs them from the folder, with the wheels that are packed here.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from cgrsp_simpy.base.checks import InputError, needed, require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.exercises.pages import notebook_text

EXTRA = 'the browser needs the extra teach: pip install ".[teach]" in a clone'
PYODIDE = "0.27.7"  # the version for the pinned jupyterlite-pyodide-kernel
LOCK = "pyodide-lock.json"
CORE = (LOCK, "pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
PACKAGES = (  # what the kernel loads, and the requirements of this package
    *("ipython", "jedi", "micropip", "packaging", "sqlite3", "ssl"),
    *("cloudpickle", "matplotlib", "numpy", "pydantic-core", "scipy", "tqdm"),
    "typing-extensions",
)
PACKED = ("cgrsp_simpy", "simpy", "comm")  # pure Python, and not in Pyodide
PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"
KERNEL = {
    # the build replaces it if there is a distribution in static/pyodide
    "pyodideUrl": f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/pyodide.js",
    "disablePyPIFallback": True,
}
SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {"litePluginSettings": {PLUGIN: KERNEL}},
}
BUILD = "-W ignore -m jupyterlite_core build --apps=notebooks --no-sourcemaps"
PAGE = Path(__file__).with_name("browser.html")


def write(folder: Path, scripts: list[Path], pyodide: Path | None) -> None:
    """Write lectures as notebooks that run in the browser, with an index page.

    folder: empty, or new. pyodide: a distribution, unpacked or as its archive; with
    None, notebooks load it from its content delivery network. Raises InputError before
    anything is written.
    """
    is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    require(is_free, "--browser", str(folder), "an empty folder, or a new one")
    needed("jupyterlite_pyodide_kernel", EXTRA)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        if pyodide is not None:
            _copy_pyodide(pyodide, source)
        for package in PACKED:
            _pack(package, source / "pypi")
        for script in scripts:
            notebook = json.loads(notebook_text(script.read_text(encoding="utf-8")))
            notebook["cells"][0]["source"] = "%pip install -q cgrsp_simpy"
            notebook["metadata"]["kernelspec"]["name"] = "python"
            content = json.dumps(notebook).encode()
            write_whole(source / "files" / f"{script.stem}.ipynb", content)
        write_whole(source / "jupyter-lite.json", json.dumps(SETTINGS).encode())
        words = [sys.executable, *BUILD.split(), "--log-level=ERROR"]
        subprocess.run(words, cwd=source, check=True, stdout=subprocess.DEVNULL)
        shutil.copyfile(PAGE, source / "_output" / "index.html")
        shutil.copytree(source / "_output", folder, dirs_exist_ok=True)


def _pack(package: str, folder: Path) -> None:
    """Write the wheel of an installed package that is pure Python."""
    path = Path(needed(package, EXTRA).__file__).parent
    metadata = distribution(package)
    stem = f"{package}-{metadata.version}"
    folder.mkdir(exist_ok=True)
    with ZipFile(folder / f"{stem}-py3-none-any.whl", "w", ZIP_DEFLATED) as wheel:
        for file in sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(path.parent))
        for name in ("METADATA", "WHEEL"):
            wheel.writestr(f"{stem}.dist-info/{name}", metadata.read_text(name) or "")


def _copy_pyodide(path: Path, source: Path) -> None:
    """Copy the core and the packages that are needed, with what these depend on."""
    try:
        if path.is_file():
            shutil.unpack_archive(path, source, filter="data")
        unpacked = source / "pyodide" if path.is_file() else path
        lock = json.loads((unpacked / LOCK).read_text(encoding="utf-8"))
        version, entries, names = lock["info"]["version"], lock["packages"], [*PACKAGES]
        require(version == PYODIDE, "version", version, PYODIDE)
        for name in names:  # grows by what each depends on
            depends = {part.replace("_", "-") for part in entries[name]["depends"]}
            names += sorted(depends.difference(names))
        sums = {entries[name]["file_name"]: entries[name]["sha256"] for name in names}
        for file in (*CORE, *sums):
            content = (unpacked / file).read_bytes()
            is_right = sums.get(file) in (None, sha256(content).hexdigest())
            require(is_right, "file", file, f"the one with the checksum in {LOCK}")
            write_whole(source / "static" / "pyodide" / file, content)
    except (OSError, EOFError, KeyError, ValueError) as error:
        raise InputError(
            f"--pyodide {path} must be the archive pyodide-{PYODIDE}.tar.bz2 of"
            " https://github.com/pyodide/pyodide/releases, or the folder in it:"
            f" {error}"
        ) from error
