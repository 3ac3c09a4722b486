"""What belongs to a bundle and is no manifest: runbooks and the like, one folder a cluster.

It lies outside of the folder of manifests, since a controller would apply whatever YAML it finds there. Such a file
carries no label that tells whose it is, so its first line does.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from gangform.plan.cluster import ClusterPlan
from gangform.signals import adapter, runbooks, state_metrics

_MARK = "Written by gangform: a change made here is lost, change the inputs instead."
MARKS = {".md": f"<!-- {_MARK} -->", ".yaml": f"# {_MARK}"}
"""The first line of a file of ours, by the end of its name."""


class Producer(NamedTuple):
    """One kind of file."""

    what: str
    """In the plural, as a message calls them: `runbooks`."""
    asked: Callable[[ClusterPlan], bool]
    """Whether the cluster wants them: quick, since every run asks."""
    files: Callable[[ClusterPlan], Iterator[tuple[str, str]]]
    """The path of each below the folder of the cluster, and its text without the first line. What belongs to one
    serving lies in a folder called like it: `runbooks/r1/ServingNoGroupReady.md`."""


PRODUCERS: tuple[Producer, ...] = (
    Producer("runbooks", runbooks.asked, runbooks.files),
    Producer("configurations of kube-state-metrics", state_metrics.asked, state_metrics.files),
    Producer("rules of prometheus-adapter", adapter.asked, adapter.files),
)
"""What makes such files."""


class Companion(NamedTuple):
    """One file that is no manifest."""

    path: str
    """Below the output folder: `prod-a/runbooks/r1/ServingNoGroupReady.md`."""
    content: bytes


def wanted(plans: Sequence[ClusterPlan]) -> tuple[str, ...]:
    """What the clusters want, in words."""
    return tuple(each.what for each in PRODUCERS if any(map(each.asked, plans)))


def companions(plans: Sequence[ClusterPlan], servings: Sequence[str] = ()) -> tuple[Companion, ...]:
    """Every file that is no manifest, by path; of some servings only where they are named."""
    return tuple(sorted(_made(plans, frozenset(servings)), key=lambda one: one.path))


def _made(plans: Sequence[ClusterPlan], servings: frozenset[str]) -> Iterator[Companion]:
    for plan in plans:
        for producer in PRODUCERS:
            if producer.asked(plan):
                for path, text in producer.files(plan):
                    if not servings or subject_of(path) in servings:
                        content = f"{MARKS[PurePosixPath(path).suffix]}\n{text}".encode()
                        yield Companion(path=f"{plan.cluster.name}/{path}", content=content)


def subject_of(path: str) -> str:
    """The serving that a path below the folder of a cluster belongs to; empty where it is the cluster's."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""
