"""Check a built site: `python docs/check.py build/site`.

Every internal link must lead to a file and, if it has a fragment, to an anchor in it;
every public name of the package must be in the index of the search.
"""

import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import api


class Page(HTMLParser):
    """Parser that collects the links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the link or anchor of a tag."""
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


def broken(site: Path) -> list[str]:
    """Return the broken internal links of a site."""
    others = {"_static", "lite"}  # pages of packages
    files = [
        path
        for path in site.rglob("*.html")
        if path.relative_to(site).parts[0] not in others
    ]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            known = pages[target].places if target in pages else {""}
            reached = target.is_file() and (
                target not in pages or unquote(parts.fragment) in known
            )
            if not reached:
                found.append(f"{path.relative_to(site)}: {link}")
    return sorted(set(found))


def indexed(site: Path) -> set[str]:
    """Return the names in the index of objects."""
    lines = (site / "objects.inv").read_bytes().split(b"\n", 4)
    return {
        line.split(" ")[0] for line in zlib.decompress(lines[4]).decode().splitlines()
    }


def missing(site: Path) -> list[str]:
    """Return the public names that are missing from the index."""
    there = indexed(site)
    names = [each.full for found in api.public().values() for each in found]
    return [name for name in names if name not in there]


def main() -> int:
    """Print all faults; return 1 if there are any."""
    site = Path(sys.argv[1]).resolve()
    faults = [f"broken link in {each}" for each in broken(site)]
    faults += [f"not in the index: {each}" for each in missing(site)]
    names = sum(map(len, api.public().values()))
    pages = len(list(site.rglob("*.html")))
    print(
        "\n".join(
            [*faults, f"{pages} pages, {names} public names, {len(faults)} faults"]
        )
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
