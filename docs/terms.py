"""Link the first use of each glossary term on a page to its entry."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

PAGES = r"(tutorial|howto|explanation|made/lectures)/(?!.*\bindex$)"

# Terms that are ordinary words, too -> the pages on which they are the terms.
AMBIGUOUS = {
    "attribute": r"made/lectures/(01|17)_",
    "clock": r"(?!howto/dag)",
    "factor": r"made/lectures/12_",
    "interaction": r"made/lectures/12_",
    "process": r"howto/(event_list|interruptions|models/|simpy)"
    r"|made/lectures/(02|04|07|15|16)_",
    "response": r"made/lectures/1[1238]_",
    "server": r"(?!howto/dag)",
    "state": r"howto/event_list|made/lectures/01_",
}


def pattern(terms: list[str]) -> re.Pattern[str]:
    """Return an expression for any of the terms, longest first, in singular and plural.

    The number of the matching group is the number of the term, from 1.
    """
    return re.compile("|".join(map(_form, terms)), re.IGNORECASE)


def _form(term: str) -> str:
    """Return the expression of a term.

    Its words may be separated by a space, a line break or a hyphen.
    """
    stem, plural = (term[:-1], "(?:y|ies)") if term[-1] == "y" else (term, "s?")
    words = r"[\s-]".join(map(re.escape, re.split("[ -]", stem)))
    words = words.replace("'", "['’]")
    return rf"(?<![\w'’-])({words}{plural})(?![\w-])"


def prose(element: nodes.Element) -> Iterator[nodes.Text]:
    """Yield the texts of a paragraph, without code, links and summaries in HTML."""
    tag = ""
    for child in list(element.children):
        if isinstance(child, nodes.Text) and not tag.startswith(("<a", "<summary")):
            yield child
        elif isinstance(child, (nodes.strong, nodes.emphasis)):
            yield from prose(child)
        tag = child.astext() if isinstance(child, nodes.raw) else ""


def join_lines(element: nodes.Element) -> None:
    """Join the lines of a paragraph, which are separate texts, into one text."""
    children: list[nodes.Node] = []
    for is_text, group in groupby(
        element.children, lambda child: isinstance(child, nodes.Text)
    ):
        parts = list(group)
        children += [nodes.Text("".join(parts))] if is_text else parts
    element[:] = children
    for child in element.children:
        if isinstance(child, (nodes.strong, nodes.emphasis)):
            join_lines(child)


class TermLinks(SphinxPostTransform):
    """Link the first use of each term in the paragraphs of a lecture or how-to."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Replace the texts that use a term for the first time."""
        page = self.env.docname
        if not re.match(PAGES, page):
            return
        places = {
            name: place
            for name, _, kind, *place, _ in self.env.domains["std"].get_objects()
            if kind == "term" and re.match(AMBIGUOUS.get(name, ""), page)
        }
        names = sorted(places, key=len, reverse=True)
        terms = pattern(names)
        for paragraph in list(self.document.findall(nodes.paragraph)):
            join_lines(paragraph)
            for text in prose(paragraph):
                parts: list[nodes.Node] = []
                end = 0
                for use in terms.finditer(text):
                    name = names[use.lastindex - 1]
                    if name in places:
                        target = places.pop(name)
                        word = nodes.inline("", use[0], classes=["std-term"])
                        link = make_refnode(self.app.builder, page, *target, word)
                        parts += [nodes.Text(text[end : use.start()]), link]
                        end = use.end()
                if parts:
                    text.parent.replace(text, [*parts, nodes.Text(text[end:])])
