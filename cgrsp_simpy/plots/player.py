"""An animation as one HTML file: its frames as pictures, a play button and a slider; nothing is
loaded from elsewhere.
"""

from __future__ import annotations

import base64
import json
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.animation import AbstractMovieWriter
from matplotlib.figure import Figure

__all__ = ["PageWriter"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>%(title)s</title>
<style>
body { font: 16px sans-serif; margin: 1em; }
img { max-width: 100%%; display: block; }
input { width: 60%%; vertical-align: middle; }
</style>
<img id="picture" alt="a frame of the animation">
<button id="play">Play</button>
<input id="place" type="range" min="0" value="0">
<span id="told"></span>
<script>
const frames = %(frames)s, delay = %(delay)s;
const [picture, play, place, told] = ["picture", "play", "place", "told"].map(id => document.getElementById(id));
let timer = null;
function show() {
  picture.src = "data:image/png;base64," + frames[place.value];
  told.textContent = "frame " + (Number(place.value) + 1) + " of " + frames.length;
}
function stop() { clearInterval(timer); timer = null; play.textContent = "Play"; }
function next() { if (Number(place.value) + 1 < frames.length) { place.value++; show(); } else stop(); }
play.onclick = () => {
  if (timer) return stop();
  if (Number(place.value) + 1 === frames.length) place.value = 0;
  timer = setInterval(next, delay);
  play.textContent = "Pause";
};
place.oninput = show;
place.max = frames.length - 1;
show();
</script>
</html>
"""


class PageWriter(AbstractMovieWriter):
    """A writer of animations, as matplotlib takes them, that makes such a page."""

    def setup(self, fig: Figure, outfile: str | Path, dpi: float | None = None) -> None:
        """Start without frames."""
        super().setup(fig, outfile, dpi)
        self._frames: list[str] = []

    def grab_frame(self, **savefig_kwargs: Any) -> None:
        """Keep the figure as it is now."""
        picture = BytesIO()
        self.fig.savefig(
            picture, format="png", dpi=self.dpi, metadata={"Software": None}, **savefig_kwargs
        )
        self._frames.append(base64.b64encode(picture.getvalue()).decode())

    def finish(self) -> None:
        """Write the page."""
        path = Path(self.outfile)
        page = PAGE % {
            "title": path.stem,
            "frames": json.dumps(self._frames),
            "delay": round(1000 / self.fps),
        }
        path.write_bytes(page.encode())
