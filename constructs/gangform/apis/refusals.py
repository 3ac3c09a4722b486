"""What the pod API refuses, since no controller checks it in a template (`lab` summary 9, E9)."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.documents.document import Manifest
from gangform.findings import Path


def pod_refusals(spec: Manifest, *, in_stateful_set: bool) -> Iterator[tuple[Path, str, str]]:
    """Where a pod spec would be refused: path in the spec, what is wrong, and what to write instead."""
    raise NotImplementedError
