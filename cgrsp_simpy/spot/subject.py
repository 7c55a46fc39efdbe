"""How studies run policies for one job under a deadline."""

from __future__ import annotations

from typing import Any

from cgrsp_simpy.studies.subject import Subject

WORK = 500  # a run takes about as long as so many jobs of the thesis's model


class SpotSubject(Subject):
    """A run is one job; its cost grows with the zones."""

    @property
    def work(self) -> int:
        return WORK * int(self.model.number_of_zones)

    @property
    def parts(self) -> dict[str, Any]:
        return {"source": self.model.source, "checkpoints": self.model.checkpoints}
