"""Fields of a serving that nothing would read: dropped in silence, they would look like promises.

A field that means nothing here is refused, as one of the weights is that its source has no use for; one whose wish is
met anyway is only said.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.admission.admission import Policy
from gangform.apis.forms import Form
from gangform.apis.leaderworkerset import LEADER_CREATED
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.serving import Serving

TOPOLOGY = declare(
    "topology-without-group",
    "A replica of one pod lies in one domain of every level",
    Severity.STYLE,
    "design §4 Topology",
)
ADMISSION = declare(
    "admission-field-unused",
    "A field of the admission that the backend has no use for",
    Severity.BREAKS,
    "design §3 Serving",
)
GROUPS = declare(
    "field-needs-groups",
    "Policies of groups mean nothing where each replica is one pod of an ordinary kind",
    Severity.BREAKS,
    "lws §2a; design §4 Workload",
)
NETWORK = declare(
    "network-policy-not-applied",
    "A NetworkPolicy does not apply to pods on the host's network",
    Severity.DEGRADES,
    "networking/v1: pods with hostNetwork",
)


def check(
    serving: Serving, *, policy: Policy, form: Form, size: int, at: Path
) -> Iterator[Finding]:
    """What was written and would be dropped."""
    backend = serving.admission.backend
    if serving.topology is not None and size == 1:
        yield Finding(
            code=TOPOLOGY,
            at=InputPath((*at, "topology")),
            what=f"`{serving.topology.level}` is {serving.topology.mode}, and a replica is 1 pod, which is never "
            "split: nothing is emitted for it",
            fix="leave it out; `spread` says over what replicas are spread",
        )
    for field, value, used in (
        ("priorityClass", serving.admission.priority_class, policy.has_priority_classes),
        ("queue", serving.admission.queue, policy.needs_queue),
    ):
        if value is not None and not used:
            yield Finding(
                code=ADMISSION,
                at=InputPath((*at, "admission", field)),
                what=f"backend {backend} has no use for `{field}: {value}`",
                fix=f"remove `{field}`, or name the backend that uses it",
            )
    if not form.can.runs_groups:
        asked = {
            "restartPolicy": serving.restart_policy,
            "startupPolicy": None
            if serving.startup_policy == LEADER_CREATED
            else serving.startup_policy,
        }
        for field, value in asked.items():
            if value is not None:
                yield Finding(
                    code=GROUPS,
                    at=InputPath((*at, field)),
                    what=f"`{field}: {value}` on a {form.kind}, whose replicas are single pods",
                    fix="leave it out, or ask for `workload: LeaderWorkerSet`",
                )
    if serving.network is not None and serving.pods.host_network:
        yield Finding(
            code=NETWORK,
            at=InputPath((*at, "network")),
            what="hostNetwork with `network`: the policy does not reach pods on the host's network, and their "
            "ports stay open to all",
            fix="leave hostNetwork out, or close the ports on the nodes and leave `network` out",
        )
