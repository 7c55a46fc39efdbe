"""The live page of `cgrsp app`: a Streamlit script, main.py, with a function a page.

It needs the extra `app`; nothing outside this room imports Streamlit, and importing
this room does not.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["SCRIPT"]

SCRIPT = Path(__file__).with_name("main.py")
