"""How long an engine takes to start: what is known, what the manifest gives away, and what is taken for granted."""

from __future__ import annotations

import re
from typing import Final

from gangform.apis.forms import PodView
from gangform.documents.document import Manifest, whole
from gangform.rules.joins import Run
from gangform.rules.rule import Context

LONGEST: Final = 2700
"""Seconds that an engine may take where nothing says how long (`design §4 Readiness`: 45 minutes)."""
LEAST: Final = 60
"""Seconds that any start takes: imports, compilation and graphs, whatever the model."""
_PER_GPU: Final = 150
"""Seconds to fill half of a GPU of 80 GB at 0.27 GB/s."""
_BESIDE: Final = 60
_PER_BILLION: Final = 5
"""Seconds to load a billion parameters of 2 bytes at 0.4 GB/s."""
_BILLIONS: Final = re.compile(
    r"(?<![0-9.])([0-9]{1,4}(?:\.[0-9]{1,3})?)b(?![a-z0-9])", re.IGNORECASE
)


def billions(model: str) -> float | None:
    """Parameters in billions, where the name of a model says them: `llama-3.1-405b`."""
    found = _BILLIONS.findall(model)
    return max(float(each) for each in found) if found else None


def allowed(probe: Manifest, failures: int = 3) -> int:
    """Seconds after which a probe gives up on something that never answers."""
    tries = whole(probe, "failureThreshold") or failures
    return (whole(probe, "initialDelaySeconds") or 0) + tries * (
        whole(probe, "periodSeconds") or 10
    )


def known(pod: PodView, context: Context) -> int | None:
    """Seconds that a start takes, where that was measured or worked out."""
    found = (context.cold_starts or {}).get(pod.document.key)
    return None if found is None else int(found)


def assumed(run: Run, gpus: int) -> int:
    """Seconds that a start may well take: by the parameters in the model's name, else by the GPUs of the group."""
    size = billions(run.reading.model) if run.reading is not None else None
    guess = _PER_GPU * gpus if size is None else _BESIDE + int(_PER_BILLION * size)
    return min(LONGEST, guess)


def at_least(run: Run, pod: PodView, context: Context) -> tuple[int, str]:
    """Seconds that a start surely takes, and how that is known."""
    seconds = known(pod, context)
    if seconds is not None:
        return seconds, f"a start takes {seconds} s"
    limit = run.reading.start_limit if run.reading is not None else None
    # Somebody who raises the limit knows starts that are longer than the default.
    if limit is not None and limit[1] > limit[2]:
        variable, raised, default = limit
        return default, (
            f"{variable} was raised to {raised} s, which matters to starts of more than {default} s only"
        )
    size = billions(run.reading.model) if run.reading is not None else None
    if size is not None and size < 1:
        return 0, ""
    return LEAST, f"no engine on GPUs is loaded before {LEAST} s"
