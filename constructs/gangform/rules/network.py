"""Network policies: peers that the API server takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import NAMESPACE_NAME
from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, dig, mapping, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import groups_behind, is_set, match_labels, surely, within
from gangform.rules.rule import Context, Fault, rule

PEER = declare(
    "network-peer-refused",
    "A peer of a NetworkPolicy that the API server refuses: the policy is not there, and nothing is closed",
    Severity.BREAKS,
    "networking.k8s.io/v1 NetworkPolicyPeer",
)

CUT = declare(
    "network-policy-cuts-group",
    "A NetworkPolicy keeps the pods of a group from each other: its ranks never meet",
    Severity.BREAKS,
    "observability §6",
)

_KEYS: Final = ("podSelector", "namespaceSelector", "ipBlock")
_SIDES: Final = (("ingress", "from"), ("egress", "to"))


@rule(PEER, kinds=("NetworkPolicy",))
def network_peer_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A peer is an address block, or pods by labels of theirs and of their namespace."""
    for side, word in _SIDES:
        for number, entry in enumerate(sequence(subject.manifest, "spec", side)):
            for index, peer in enumerate(sequence(entry, word)):
                keys = list(mapping(peer))
                path: Path = ("spec", side, number, word, index)
                unknown = [key for key in keys if key not in _KEYS]
                if unknown:
                    yield Fault(
                        path=(*path, unknown[0]),
                        what=f"a peer has no `{unknown[0]}`",
                        fix=f"write one of {', '.join(_KEYS)}",
                    )
                elif not keys:
                    yield Fault(
                        path=path,
                        what="a peer that names nobody",
                        fix="write podSelector: {} for the pods of this namespace, or namespaceSelector: {} "
                        "for those of every one",
                    )
                elif "ipBlock" in keys and len(keys) > 1:
                    yield Fault(
                        path=(*path, "ipBlock"),
                        what=f"ipBlock stands alone, and {' and '.join(k for k in keys if k != 'ipBlock')} "
                        "is beside it",
                        fix="make two peers of it",
                    )


def _covers(policy: Document, side: str, pod: PodView) -> bool:
    """Whether a policy surely closes one direction of these pods, but for what it lists."""
    types = sequence(policy.manifest, "spec", "policyTypes")
    named = side.capitalize() in types
    by_default = not types and (side == "ingress" or "egress" in mapping(policy.manifest, "spec"))
    labels = match_labels(dig(policy.manifest, "spec", "podSelector"))
    return (named or by_default) and labels is not None and surely(pod, labels)


def _lets(entry: Node, word: str, pod: PodView, namespace: str) -> bool:
    """Whether an entry may let these pods through on every port; in doubt it does."""
    ports = sequence(entry, "ports")
    if ports and not any(dig(port, "port") is None or dig(port, "endPort") for port in ports):
        return False
    peers = sequence(entry, word)
    return not peers or any(_meant(peer, pod, namespace) for peer in peers)


def _meant(peer: Node, pod: PodView, namespace: str) -> bool:
    if "ipBlock" in mapping(peer):
        return True
    space = dig(peer, "namespaceSelector")
    name = text(space, "matchLabels", NAMESPACE_NAME)
    if name and name != namespace:
        return False
    selector = dig(peer, "podSelector")
    labels = match_labels(selector)
    return selector is None or labels is None or pod.matches(labels)


@rule(CUT, kinds=("NetworkPolicy",))
def network_policy_cuts_group(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The pods of a group reach each other on every port."""
    space = subject.key.namespace
    labels = match_labels(dig(subject.manifest, "spec", "podSelector"))
    # One for every pod of the namespace is the floor that others, which may lie elsewhere, build on.
    pods = documents.pods(space, labels) if labels else ()
    for group in groups_behind(documents, list(pods)):
        for side, word in _SIDES:
            if is_set(group) and (fault := _cut(subject, group, side, word, documents)):
                yield fault


def _cut(
    subject: Document, group: GroupView, side: str, word: str, documents: Documents
) -> Fault | None:
    if group.workers is None or dig(group.leader.spec, "hostNetwork") is True:
        return None
    for pod, other in ((group.leader, group.workers), (group.workers, group.leader)):
        closing = [
            each
            for each in within(documents, "NetworkPolicy", group.namespace)
            if _covers(each, side, pod)
        ]
        if not closing or closing[0] is not subject:
            continue
        entries = [entry for each in closing for entry in sequence(each.manifest, "spec", side)]
        if not any(_lets(entry, word, other, group.namespace) for entry in entries):
            roles = "the leader" if pod is group.leader else "workers"
            way = "from" if side == "ingress" else "to"
            others = "workers" if pod is group.leader else "the leader"
            return Fault(
                path=("spec", side),
                what=f"{roles} of {group.title} may not have traffic {way} {others} on every port",
                fix=f"add an entry {word} podSelector: {{matchLabels: "
                f"{{{', '.join(f'{k}: {v}' for k, v in group.selectors.pods.items())}}}}} without ports",
            )
    return None
