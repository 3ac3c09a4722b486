"""Proxies beside an engine: they hand requests on to the port that the engine opens."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.engines.proxies import upstream
from gangform.findings import Severity, declare
from gangform.rules.joins import engine_of, over_templates, runs, words_of
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

UPSTREAM = declare(
    "sidecar-upstream-unserved",
    "A routing sidecar hands requests on to a port that the engine of its pod does not open",
    Severity.BREAKS,
    "engines §2.2, §3.2",
)


@rule(UPSTREAM, kinds=WORKLOADS)
@over_templates
def sidecar_upstream_unserved(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A sidecar knows the engine's port."""
    engine = engine_of(documents, pod)
    if engine is None or engine.reading is None or not engine.reading.serves_http:
        return
    for run in runs(pod):
        port = upstream(run.container)
        if port is not None and port != engine.reading.port:
            yield Fault(
                path=words_of(run),
                what=f"the sidecar hands requests on to port {port}; {engine.reading.engine} opens "
                f"{engine.reading.port}",
                fix=f"write --model-server-port={engine.reading.port} (--vllm-port in older ones), or start the engine "
                f"with --port={port}",
                seen={"upstream": str(port), "opened": str(engine.reading.port)},
            )
