"""The changes that the tables of effects speak of, made to objects that live on a control plane.

    TRIALS = trials("here", lambda case, rows: case.kind == "Deployment")
    with all_made(plane, "here", TRIALS) as tried:
        assert tried.seen() == expected(TRIALS)

A change has an object of its own, and all are made at once: what nobody touches is seen to stay for as long as
everything else takes to roll. Those that are said to be refused share one, and are asked for in a dry run.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from tests.apis.changed import CASES, LAB, NEW, Case, told
from tests.apis.living import base, put
from tests.cluster.api import ApiError, Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.servings import LWS, QUICK, REVISION, SET_NAME, is_ready
from tests.cluster.watch import NotSeen, Watch, watching

from gangform.apis.effects import API_SERVER, Effect, Outcome
from gangform.apis.keys import APPS, HOSTNAME

TRIAL = "example.com/trial"
"""Label of every pod: the trial that it belongs to."""
PODS = "/api/v1/pods"
QUIET = 4.0
"""Seconds in which no pod comes or goes, after which the last change is over."""
STAYS, ROLLS, REFUSED = "pods stay", "pods are replaced", "refused"
LOOKS = {
    Outcome.NONE: STAYS,
    Outcome.IN_PLACE: STAYS,
    Outcome.ROLLS: ROLLS,
    Outcome.EVICTS: ROLLS,
    Outcome.REFUSED: REFUSED,
}
"""How what the tables say looks. What must be made anew is shown by tests of its own."""
BY_SERVER, BY_WEBHOOK = "422", "403"
"""The status of a refusal, by who refuses."""


class Trial(NamedTuple):
    """One change, and the object it is made to."""

    name: str
    """Of the object."""
    case: Case
    before: Object
    after: Object
    told: Outcome
    """What the tables say, for the releases of the lab."""
    rows: tuple[Effect, ...]
    """The rows that say it."""

    def __str__(self) -> str:
        return f"{self.case.kind} {self.case.name}"


Choice = Callable[[Case, Sequence[Effect]], bool]


def trials(
    space: str, choose: Choice, *, groups: Callable[[Case], int] = lambda _: 1
) -> list[Trial]:
    """Trials of the cases that are chosen by themselves and by the rows that say what they do here.

    Args:
        space: The namespace of the objects. One that was deleted is not used again: its end may still be under way.
        choose: Whether a case is tried.
        groups: How many groups a set has for it; one that changes the number itself is left as it is.
    """
    found = []
    for number, (case, effects) in enumerate(zip(CASES, _said(), strict=True)):
        worst = max(effects, key=lambda one: one.outcome.rank).outcome
        rows = tuple(dict.fromkeys(one for one in effects if one.outcome is worst))
        if case.versions not in (NEW, LAB) or not choose(case, rows):
            continue
        before, after, same = (base(case.kind, queued=case.queued) for _ in range(3))
        case.before(before)
        case.edit(after)
        alone = worst is not Outcome.REFUSED or before != same
        name = f"t{number}" if alone else f"{case.kind.lower()}{'-queued' * case.queued}"
        for one in (before, after):
            _sized(one, groups(case))
            place(one, name, space)
        found.append(Trial(name, case, before, after, worst, rows))
    return found


@cache
def _said() -> tuple[tuple[Effect, ...], ...]:
    """What the tables say of each case here: asked once for all that choose among them."""
    return tuple(tuple(one.effect for one in told(case, LAB)) for case in CASES)


def place(manifest: Object, name: str, space: str) -> None:
    """Give a living object a name and a namespace, and pods that are quick and bear the name."""
    manifest["metadata"] |= {"name": name, "namespace": space}
    for template in templates(manifest):
        metadata = template.setdefault("metadata", {})
        metadata.setdefault("labels", {})[TRIAL] = name
        metadata.setdefault("annotations", {}).update(QUICK)


def _sized(manifest: Object, groups: int) -> None:
    """Give a set the number of groups that it is tried with, where it has that of every living set."""
    usual = base("LeaderWorkerSet")["spec"]["replicas"]
    spec = manifest.get("spec", {})
    if "leaderWorkerTemplate" in spec and spec.get("replicas") == usual:
        spec["replicas"] = groups


def changed(manifest: Object, values: Mapping[str, object]) -> Object:
    """A copy with other values at some paths."""
    made = copy.deepcopy(manifest)
    for path, value in values.items():
        put(path, value)(made)
    return made


def templates(manifest: Any) -> Iterator[Object]:
    """Every pod template in an object."""
    if isinstance(manifest, list):
        for each in manifest:
            yield from templates(each)
    elif isinstance(manifest, dict):
        if "containers" in (manifest.get("spec") or {}):
            yield manifest
        else:
            yield from templates(list(manifest.values()))


def expected(asked: Iterable[Trial], *outcomes: Outcome) -> dict[str, str]:
    """How the trials look if the tables are right: those of some outcomes, or all."""
    return {str(one): LOOKS[one.told] for one in asked if not outcomes or one.told in outcomes}


def pods_of(manifest: Object) -> int:
    """How many pods an object makes."""
    spec = manifest.get("spec", {})
    if "leaderWorkerTemplate" in spec:
        return int(spec.get("replicas", 1) * spec["leaderWorkerTemplate"].get("size", 1))
    if "roles" in spec:
        return sum(pods_of(role) for role in spec["roles"])
    return int(spec.get("replicas", 1)) if "template" in spec else 0


@dataclass
class Tried:
    """Trials on a control plane."""

    plane: ControlPlane
    space: str
    trials: Sequence[Trial]
    watch: Watch
    answers: dict[str, str] = field(default_factory=dict)
    """What the server said to those that it refused, by the trial."""
    _pods: dict[str, set[str]] = field(default_factory=dict)
    _revisions: dict[str, set[str]] = field(default_factory=dict)

    def change(self, *, within: float = 200) -> None:
        """Make every change, and wait until what rolls has rolled and nothing comes or goes any more."""
        self._pods, self._revisions = self._uids(), self._every_revision()
        for one in self.trials:
            dry = one.told is Outcome.REFUSED
            if text := refusal(self.plane, one.after, dry_run=dry):
                self.answers[str(one)] = text
        rolling = [one.name for one in self.trials if one.told is Outcome.ROLLS]

        def rolled(_: Watch) -> bool:
            now = self._uids()
            return not any(self._pods[name] & now.get(name, set()) for name in rolling)

        with suppress(NotSeen):  # What has not is told one by one.
            self.watch.until(rolled, within=within, what="all have rolled")
        settled(self.watch)

    def seen(self, *outcomes: Outcome) -> dict[str, str]:
        """How the trials look; those that are said to have some outcome, or all."""
        now, revisions = self._uids(), self._every_revision()
        return {
            str(one): self._look(one, now.get(one.name, set()), revisions.get(one.name, set()))
            for one in self.trials
            if not outcomes or one.told in outcomes
        }

    def _look(self, one: Trial, now: set[str], revisions: set[str]) -> str:
        before, same = (
            self._pods.get(one.name, set()),
            revisions == self._revisions.get(one.name, set()),
        )
        look = STAYS if before <= now else "some pods are replaced" if before & now else ROLLS
        if one.told is Outcome.REFUSED or str(one) in self.answers:
            text = self.answers.get(str(one), "taken")
            status = BY_SERVER if one.rows[0].by == API_SERVER else BY_WEBHOOK
            refused = text.startswith(status) and look == STAYS and same
            return REFUSED if refused else f"{text}, and {look}"
        return (
            look
            if same is (look == STAYS)
            else f"{look}, of {'the same' if same else 'another'} revision"
        )

    def borne_out(self, *outcomes: Outcome) -> str:
        """See that the trials of some outcomes look as the tables say, and name them."""
        told = expected(self.trials, *outcomes)
        assert self.seen(*outcomes) == told
        return ", ".join(told)

    def pods(self, one: Trial) -> list[Object]:
        """The pods of a trial."""
        return [pod for pod in self.watch.of("Pod") if trial_of(pod) == one.name]

    def _uids(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for pod in self.watch.of("Pod"):
            if "deletionTimestamp" not in pod["metadata"]:
                found.setdefault(trial_of(pod), set()).add(pod["metadata"]["uid"])
        return found

    def _every_revision(self) -> dict[str, set[str]]:
        """What each trial's workload has for its present template."""
        found: dict[str, set[str]] = {}
        api = self.plane.api
        for one in api.list(api.path(APPS, "StatefulSet", namespace=self.space)):
            labels = one["metadata"]["labels"]
            if one["metadata"]["name"] == labels.get(SET_NAME):
                found.setdefault(trial_of(one["spec"]["template"]), set()).add(labels[REVISION])
        for kind, version in (("ReplicaSet", APPS), ("LeaderWorkerSet", LWS)):
            for one in api.list(api.path(version, kind, namespace=self.space)):
                for owner in one["metadata"].get("ownerReferences", []):
                    found.setdefault(owner["name"], set()).add(one["metadata"]["name"])
        return found


def trial_of(thing: Object) -> str:
    """The trial of a pod or of a template; empty for others'."""
    return str(thing["metadata"].get("labels", {}).get(TRIAL, ""))


def refusal(plane: ControlPlane, manifest: Object, *, dry_run: bool = False) -> str:
    """What the server says to an object applied as kubectl would; empty where it takes it."""
    try:
        plane.api.apply(manifest, manager="kubectl", dry_run=dry_run)
    except ApiError as error:
        return f"{error.status} {error.message}"
    return ""


def settled(watch: Watch, *, seconds: float = QUIET, within: float = 40) -> None:
    """Wait until no pod has come or gone for so long."""
    called = time.monotonic() - watch.began

    def hold(now: Watch) -> bool:
        moves = [one.at for one in now.events if one.place.kind == "Pod" and one.type != "MODIFIED"]
        last = max([called, *moves[-1:]])
        return time.monotonic() - now.began - last >= seconds

    watch.until(hold, within=within, what="no pod comes or goes")


@contextmanager
def begun(
    plane: ControlPlane,
    space: str,
    asked: Sequence[Trial],
    *,
    beside: Sequence[Object] = (),
    within: float = 240,
) -> Iterator[Tried]:
    """Make the objects of the trials, after what they stand on, and wait until all of their pods are ready."""
    wanted = {one.name: pods_of(one.before) for one in asked}
    wanted |= {one["metadata"]["name"]: pods_of(one) for one in beside}
    with watching(plane.api, PODS) as watch:
        plane.namespace(space)
        for manifest in [*beside, *{one.name: one.before for one in asked}.values()]:
            plane.api.apply(manifest, manager="kubectl")

        def short(now: Watch) -> dict[str, int]:
            ready = Counter(trial_of(pod) for pod in now.of("Pod") if is_ready(pod))
            return {name: ready[name] for name, number in wanted.items() if ready[name] != number}

        try:
            watch.until(lambda now: not short(now), within=within, what="all pods are ready")
        except NotSeen as error:
            told = {
                each["message"]
                for each in plane.api.list(f"/api/v1/namespaces/{space}/events")
                if each["type"] != "Normal"
            }
            raise NotSeen(f"{error}; ready of some: {short(watch)}; {sorted(told)[:5]}") from None
        yield Tried(plane, space, asked, watch)


@contextmanager
def all_made(
    plane: ControlPlane, space: str, asked: Sequence[Trial], *, beside: Sequence[Object] = ()
) -> Iterator[Tried]:
    """Make every change of some trials, on nodes that take everything."""
    put_nodes(plane)
    try:
        with begun(plane, space, asked, beside=beside) as tried:
            tried.change()
            yield tried
    finally:
        plane.reset()


def put_nodes(plane: ControlPlane, count: int = 8) -> None:
    """Have nodes that take everything, two in each rack, with the labels that living objects ask for."""
    made = []
    for number in range(count):
        node = copy.deepcopy(plane.own_nodes[0])
        name = f"n{number}"
        node["metadata"]["name"] = name
        node["metadata"]["labels"] |= {
            HOSTNAME: name,
            "gpu": "h100",
            "rack": f"r{number // 2}",
            "block": "b0",
        }
        node["spec"]["taints"] = []
        for offered in (node["status"]["allocatable"], node["status"]["capacity"]):
            offered |= {"cpu": "9000", "pods": "900"}
        made.append(node)
    plane.set_nodes(made)
