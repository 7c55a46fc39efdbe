"""Tables and figures of the thesis, with published and reproduced values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cgrsp_simpy.papers.thesis.figures import figure

__all__ = ["figure"]


if not TYPE_CHECKING:  # with it a type checker would accept every misspelt name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from cgrsp_simpy.papers.thesis import figures  # loads matplotlib

        return figures.figure
