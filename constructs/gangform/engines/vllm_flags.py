"""vLLM's flags and variables by release, and the default share of memory by release.

A row is dated by the oldest release in which it was certainly there: read in a shipped wheel (0.11.1, 0.11.2, 0.33.0),
or in use by a log or a guide of that time (`engines §1.1`, `§1.8`). We emit only what is dated to the declared release.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from gangform.apis.versions import Evidence, Release, Row, Table

NODES = "--nnodes"
DATA_OVER_NODES = "--data-parallel-size together with --nnodes"
"""Not a flag: that rank and local size of data parallelism follow from the node's rank."""
SHUTDOWN = "--shutdown-timeout"
METRICS_OFF = "--disable-log-stats"
"""In every release: no series of the engine's own is exported; those of the server around it are."""
READY_TIMEOUT = "VLLM_ENGINE_READY_TIMEOUT_S"
READY_DEFAULT = 600
"""Seconds that a start may take where the variable is not set (`engines §1.5`)."""

NEWEST = Release(0, 33)
"""The newest release that was read."""
SPANS_NODES = Release(0, 11, 1)
"""The first release that spans nodes without Ray."""
COUNTS_DEVICES = Release(0, 13)
"""The first release after the device count of multi-node starts was fixed (after 0.11.2, 2025-12-09)."""
RECOMMENDED = Release(0, 22)
"""Recommended for new profiles: further multi-node fixes of March to May 2026 are in it."""

_OLD = Release(0, 7)


def _rows(names: str, since: Release, evidence: Evidence, source: str) -> Iterator[Row]:
    for name in names.split():
        yield Row(name, since, evidence, source)


FLAGS = Table(
    "vLLM",
    NEWEST,
    [
        *_rows(
            "--served-model-name --port --tensor-parallel-size --pipeline-parallel-size --max-model-len "
            "--gpu-memory-utilization --kv-cache-dtype",
            _OLD,
            Evidence.DOCS,
            "engines §7: in use in logs of the V0 engine",
        ),
        *_rows(
            "--data-parallel-size --enable-expert-parallel",
            Release(0, 10),
            Evidence.CODE,
            "engines §1.1: spring and summer of 2025",
        ),
        *_rows(
            f"{NODES} --node-rank --master-addr --master-port --headless",
            SPANS_NODES,
            Evidence.CODE,
            "engines §1.1: PR 23691, in the 0.11.1 wheel",
        ),
        Row(
            "--decode-context-parallel-size",
            SPANS_NODES,
            Evidence.CODE,
            "engines §1.1: late 2025",
        ),
        Row(
            "--prefill-context-parallel-size",
            NEWEST,
            Evidence.CODE,
            "engines §1.1: late 2025 or 2026; certain in the release that was read",
        ),
        Row(
            DATA_OVER_NODES,
            NEWEST,
            Evidence.CODE,
            "engines §1.2: rank and local size of data parallelism are inferred in 0.33",
        ),
        # Added on 2026-03-05, taken back on 03-10, added again later: the releases between are a hole of unknown width.
        Row(SHUTDOWN, NEWEST, Evidence.CODE, "engines §1.1, §1.8, §10: certain in 0.33 only"),
        Row(READY_TIMEOUT, Release(0, 14), Evidence.CODE, "engines §1.5: PR 27444"),
    ],
)
"""What we may write, by release."""


def default_utilization(release: Release) -> Decimal:
    """Share of visible memory where nobody sets one: 0.9 until 0.20, 0.92 since (`engines §6.1`)."""
    return Decimal("0.92") if release >= Release(0, 21) else Decimal("0.9")
