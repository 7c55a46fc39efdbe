"""The thesis: its tables and figures, published beside reproduced.

`figure` draws one of its figures, as it is or with parameters changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cgrsp_simpy.thesis.figures import figure

__all__ = ["figure"]


if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from cgrsp_simpy.thesis import figures  # with matplotlib

        return figures.figure
