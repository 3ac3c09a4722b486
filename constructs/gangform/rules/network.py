"""Network policies: peers that the API server takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.views import Documents
from gangform.documents.document import Document, mapping, sequence
from gangform.findings import Path, Severity, declare
from gangform.rules.rule import Context, Fault, rule

PEER = declare(
    "network-peer-refused",
    "A peer of a NetworkPolicy that the API server refuses: the policy is not there, and nothing is closed",
    Severity.BREAKS,
    "networking.k8s.io/v1 NetworkPolicyPeer",
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
