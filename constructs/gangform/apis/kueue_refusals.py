"""What Kueue's webhooks and CEL rules refuse in its own objects, as far as one object shows it.

Types, words and missing fields are said by the structure (`queue_fields`). Sources: `kueue §1.2–§1.5` (v0.19.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from gangform.apis.pods import amount_of
from gangform.apis.structure import unrendered
from gangform.documents.document import Manifest, Node, dig, mapping, sequence, text
from gangform.findings import Path

Refusal = tuple[Path, str, str]
"""Path in the object, what is wrong, what to write instead."""

NEVER: Final = "Never"
LABEL_LIMIT: Final = 8
"""Most node labels of a ResourceFlavor; its taints and tolerations are bounded by the structure."""
_TRY_NEXT: Final = "TryNextFlavor"
_EXISTS: Final = "Exists"
_NO_EXECUTE: Final = "NoExecute"


def cohort_of(manifest: Manifest) -> str:
    """The cohort of a ClusterQueue in either version; the parent of a Cohort."""
    spec = mapping(manifest, "spec")
    return text(spec, "cohortName") or text(spec, "cohort") or text(spec, "parentName")


def quota_refusals(manifest: Manifest) -> Iterator[Refusal]:
    """Amounts of a ClusterQueue or Cohort that are refused."""
    cohort = cohort_of(manifest)
    for number, group in enumerate(sequence(manifest, "spec", "resourceGroups")):
        for index, flavor in enumerate(sequence(group, "flavors")):
            for place, row in enumerate(sequence(flavor, "resources")):
                path: Path = (
                    *("spec", "resourceGroups", number, "flavors", index, "resources", place),
                )
                yield from _row(row, path, cohort)


def _row(row: Node, path: Path, cohort: str) -> Iterator[Refusal]:
    amounts: dict[str, Fraction] = {}
    for field in ("nominalQuota", "borrowingLimit", "lendingLimit"):
        written = dig(row, field)
        if written is None or unrendered(written):
            continue
        amount = amount_of(written)
        if str(written).startswith("-"):
            yield (*path, field), f"{field} {written} is negative", f"write {field}: 0"
        elif amount is None:
            yield (*path, field), f"`{written}` is no quantity", "write a number such as 64 or 2Ti"
        else:
            amounts[field] = amount
            if field != "nominalQuota" and not cohort:
                yield (
                    (*path, field),
                    f"{field} without a cohort: there is nobody to share with",
                    "remove it, or name the cohort",
                )
    lends, has = amounts.get("lendingLimit"), amounts.get("nominalQuota")
    if cohort and lends is not None and has is not None and lends > has:
        yield (
            (*path, "lendingLimit"),
            f"lendingLimit {dig(row, 'lendingLimit')} is above the quota {dig(row, 'nominalQuota')}",
            f"write lendingLimit: {dig(row, 'nominalQuota')} or less",
        )


def queue_refusals(manifest: Manifest) -> Iterator[Refusal]:
    """What else of a ClusterQueue is refused."""
    spec = mapping(manifest, "spec")
    reclaims = text(spec, "preemption", "reclaimWithinCohort") or NEVER
    borrows = text(spec, "preemption", "borrowWithinCohort", "policy") or NEVER
    if reclaims == NEVER and borrows != NEVER:
        yield (
            ("spec", "preemption", "borrowWithinCohort", "policy"),
            f"borrowWithinCohort {borrows} with reclaimWithinCohort {NEVER}",
            f"write borrowWithinCohort.policy: {NEVER}, or let the queue reclaim",
        )
    choice = mapping(spec, "flavorFungibility")
    if "preference" in choice and (
        text(choice, "whenCanBorrow") != _TRY_NEXT
        or (text(choice, "whenCanPreempt") or _TRY_NEXT) != _TRY_NEXT
    ):
        yield (
            ("spec", "flavorFungibility", "preference"),
            f"a preference needs whenCanBorrow and whenCanPreempt {_TRY_NEXT}",
            f"write {_TRY_NEXT} for both, or remove the preference",
        )
    flavors = {
        text(flavor, "name")
        for group in sequence(spec, "resourceGroups")
        for flavor in sequence(group, "flavors")
    }
    checks = ("spec", "admissionChecksStrategy", "admissionChecks")
    for index, check in enumerate(sequence(manifest, *checks)):
        for place, name in enumerate(sequence(check, "onFlavors")):
            if isinstance(name, str) and flavors and name not in flavors:
                yield (
                    (*checks, index, "onFlavors", place),
                    f"`{name}` is no flavor of this queue: {', '.join(sorted(flavors))}",
                    "name a flavor of the queue, or remove onFlavors for all of them",
                )


def flavor_refusals(manifest: Manifest) -> Iterator[Refusal]:
    """Labels, taints and tolerations of a ResourceFlavor that are refused."""
    spec = mapping(manifest, "spec")
    labels = mapping(spec, "nodeLabels")
    if len(labels) > LABEL_LIMIT:
        yield (
            ("spec", "nodeLabels"),
            f"{len(labels)} node labels; at most {LABEL_LIMIT} are taken",
            "keep those that tell this pool from others",
        )
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(sequence(spec, "nodeTaints")):
        key = text(taint, "key"), text(taint, "effect")
        if key in seen:
            yield (
                ("spec", "nodeTaints", index),
                f"taint {key[0]}:{key[1]} stands twice",
                "remove one",
            )
        seen.add(key)
    for index, toleration in enumerate(sequence(spec, "tolerations")):
        path: Path = ("spec", "tolerations", index)
        exists = text(toleration, "operator") == _EXISTS
        if not text(toleration, "key") and not exists:
            yield (
                (*path, "operator"),
                f"a toleration without a key needs {_EXISTS}",
                f"write {_EXISTS}",
            )
        if exists and text(toleration, "value"):
            yield (*path, "value"), f"{_EXISTS} takes no value", "remove the value"
        timed = dig(toleration, "tolerationSeconds") is not None
        if timed and text(toleration, "effect") != _NO_EXECUTE:
            yield (
                (*path, "tolerationSeconds"),
                f"tolerationSeconds needs the effect {_NO_EXECUTE}",
                f"remove it, or write effect: {_NO_EXECUTE}",
            )
