"""What our rules call refused, the server refuses; what they let pass, it takes: neither too strict nor too lax.

The documents are gangform's own, with one field altered (`refusals.py`). Nothing is stored but where names are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.cluster.alteration import Refused, Taken, altered
from tests.cluster.api import ApiError, Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.gangs import lasts
from tests.cluster.refusals import (
    ALONE,
    ALONE_KUEUE,
    ALONE_VOLCANO,
    EDGE,
    EDGE_KUEUE,
    EDGE_VOLCANO,
    KUEUE,
    PODS,
    RACK,
    REFUSED,
    SET,
    VOLCANO,
)
from tests.cluster.servings import Made, apply, group_of, is_ready, make, ready_groups, serving
from tests.cluster.test_acceptance import stateful_sets
from tests.cluster.watch import Watch, watching

from gangform.apis.views import Documents
from gangform.documents.document import Document
from gangform.findings import InputError
from gangform.rules.rule import Context, judge, load

REFUSES = "What a rule calls refused, the server refuses"
TAKES = "Values at the edge that our rules let pass, the server takes"
ALONE_CLAIM = "What a rule refuses beyond the server, the server takes without a word"


def bundle(plane: ControlPlane) -> Made:
    """A bundle with every kind that the rows alter, and its namespace."""
    cluster = plane.cluster.model_copy(update={"metrics_adapter": "external"})
    one = {
        "plain": serving(
            size=4,
            autoscaling={"min": 2, "max": 4, "target": 12},
            network={"clients": [{"podSelector": {}}], "scrapers": [{"podSelector": {}}]},
        ),
        "kueue": serving(
            size=4,
            groups=2,
            topology={"level": RACK, "mode": "required"},
            admission={"backend": "kueue", "queue": "serving"},
        ),
        "podgroup": serving(
            size=3,
            groups=2,
            topology={"level": RACK, "mode": "required"},
            admission={"backend": "volcano-podgroup", "queue": "serving"},
        ),
    }
    made = make(cluster, one[plane.flavour.name])
    plane.namespace(made.plan.namespace)
    return made


@pytest.fixture(scope="module")
def opened(podgroup_plane: ControlPlane) -> Iterator[None]:
    """The queue of the bundle: before it is open a PodGroup is refused."""
    queue = bundle(podgroup_plane).one("Queue")
    path = podgroup_plane.api.path_of(podgroup_plane.api.apply(queue).object)
    podgroup_plane.site.wait(
        "the queue", lambda: podgroup_plane.api.get(path)["status"]["state"] == "Open"
    )
    yield
    podgroup_plane.reset()


REFUSALS = {*REFUSED, *KUEUE, *VOLCANO, "pod-would-be-refused"}


def found(plane: ControlPlane, documents: Sequence[Object], code: str | None = None) -> list[str]:
    """What the rules find: the texts of one code, or all codes of refusals."""
    context = Context(versions=plane.cluster.versions.releases)
    every = Documents(Document(manifest=each, builder="") for each in documents)
    if code is None:
        return [each.code.id for each in judge(every, context) if each.code.id in REFUSALS]
    rule = load()[code]
    return [each.what for one in rule.subjects(every) for each in rule(one, every, context)]


def with_change(made: Made, row: Refused | Taken) -> tuple[Object, list[Object]]:
    """The first document of the row's kind, altered, and all documents with it."""
    whole = next(each for each in made.documents if each["kind"] == row.kind)
    broken = altered(whole, row.changes)
    return broken, [broken if each is whole else each for each in made.documents]


def answers(plane: ControlPlane, document: Object, *, pods: bool) -> list[str]:
    """What a dry run says of it, or of a StatefulSet of each of its templates; empty where all is taken."""
    said = []
    for probe in [*stateful_sets(document)] if pods else [document]:
        try:
            plane.api.apply(probe, dry_run=True)
        except ApiError as error:
            said.append(f"{error.status} {error.message}")
    return said


def refuses(plane: ControlPlane, saw: Saw, code: str, rows: Sequence[Refused]) -> None:
    made = bundle(plane)
    assert found(plane, made.documents, code) == []
    statuses = set()
    for row in rows:
        broken, documents = with_change(made, row)
        assert found(plane, documents, code), f"the rule minds nothing: {row}"
        # A set's own webhook reads the annotations of its templates, and nothing else in them.
        inside = row.kind == SET and any(path[:2] in ("P>", "C>", "M>") for path in row.changes)
        said = answers(plane, broken, pods=inside and code != "topology-annotations-wrong")
        assert any(row.says in each for each in said), f"{row}: {said}"
        statuses |= {each[:3] for each in said}
    saw(f"{len(rows)} of {len(rows)} refused, with {' and '.join(sorted(statuses))}")


@pytest.mark.claim(REFUSES, "rules; apis.refusals; lab E9")
@pytest.mark.parametrize("code", [*REFUSED, "pod-would-be-refused"])
def test_kubernetes_refuses(plain_plane: ControlPlane, saw: Saw, code: str) -> None:
    refuses(plain_plane, saw, code, {**REFUSED, "pod-would-be-refused": PODS}[code])


@pytest.mark.claim(REFUSES, "rules.queues, rules.admission; kueue §1, §3; lab E4")
@pytest.mark.parametrize("code", [*KUEUE])
def test_kueue_refuses(kueue_plane: ControlPlane, saw: Saw, code: str) -> None:
    refuses(kueue_plane, saw, code, KUEUE[code])


@pytest.mark.claim(REFUSES, "rules.gangs; volcano §1–§3; lab E8")
@pytest.mark.parametrize("code", [*VOLCANO])
@pytest.mark.usefixtures("opened")
def test_volcano_refuses(podgroup_plane: ControlPlane, saw: Saw, code: str) -> None:
    refuses(podgroup_plane, saw, code, VOLCANO[code])


@pytest.mark.claim(
    "No controller looks into a template: a set is accepted whose pods the server would refuse",
    "rules pod-would-be-refused; lab summary 9",
)
def test_a_set_with_broken_templates_is_accepted(plain_plane: ControlPlane, saw: Saw) -> None:
    made = bundle(plain_plane)
    said = [answers(plain_plane, with_change(made, row)[0], pods=False) for row in PODS]
    schema = {each[0][:3] for each in said if each}
    taken = sum(not each for each in said)
    assert taken > len(PODS) // 2
    saw(
        f"{taken} of {len(PODS)} sets accepted, the rest refused by the schema alone: {', '.join(sorted(schema))}"
    )


def takes(
    plane: ControlPlane,
    saw: Saw,
    edge: Sequence[Taken],
) -> None:
    made = bundle(plane)
    assert found(plane, made.documents) == []
    for row in edge:
        document, documents = with_change(made, row)
        assert found(plane, documents) == [], row
        assert answers(plane, document, pods=False) == [], row
        assert answers(plane, document, pods=True) == [] or row.kind != SET, row
    saw(f"{len(edge)} of {len(edge)} taken")


@pytest.mark.claim(TAKES, "rules; apis.refusals")
def test_kubernetes_takes_what_is_at_the_edge(plain_plane: ControlPlane, saw: Saw) -> None:
    takes(plain_plane, saw, EDGE)


@pytest.mark.claim(TAKES, "rules.queues; kueue §1")
def test_kueue_takes_what_is_at_the_edge(kueue_plane: ControlPlane, saw: Saw) -> None:
    takes(kueue_plane, saw, EDGE_KUEUE)


@pytest.mark.claim(TAKES, "rules.gangs; volcano §1–§3")
@pytest.mark.usefixtures("opened")
def test_volcano_takes_what_is_at_the_edge(podgroup_plane: ControlPlane, saw: Saw) -> None:
    takes(podgroup_plane, saw, EDGE_VOLCANO)


def alone(plane: ControlPlane, saw: Saw, table: Mapping[str, Sequence[Taken]]) -> None:
    made = bundle(plane)
    for code, rows in table.items():
        for row in rows:
            document, documents = with_change(made, row)
            assert found(plane, documents, code), row
            assert answers(plane, document, pods=False) == [], row
    saw(f"taken: {', '.join(f'{code} ({len(rows)})' for code, rows in table.items())}")


@pytest.mark.claim(ALONE_CLAIM, "rules; lab E9")
def test_kubernetes_says_nothing(plain_plane: ControlPlane, saw: Saw) -> None:
    alone(plain_plane, saw, ALONE)


@pytest.mark.claim(ALONE_CLAIM, "rules.queues, rules.admission; kueue §1, §3; lab E4")
def test_kueue_says_nothing(kueue_plane: ControlPlane, saw: Saw) -> None:
    alone(kueue_plane, saw, ALONE_KUEUE)


@pytest.mark.claim(ALONE_CLAIM, "rules.gangs; volcano §1, §3; lab E8")
@pytest.mark.usefixtures("opened")
def test_volcano_says_nothing(podgroup_plane: ControlPlane, saw: Saw) -> None:
    alone(podgroup_plane, saw, ALONE_VOLCANO)


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def renamed(made: Made, name: str, *, old: str) -> Made:
    """The same files with a longer name, which gangform would refuse."""
    files = {
        file: content.replace(old.encode(), name.encode()) for file, content in made.files.items()
    }
    return replace(made, files=files)


def named(plane: ControlPlane, name: str, *, groups: int = 4, **fields: object) -> Made:
    return make(plane.cluster, serving(name=name, size=2, groups=groups, **fields))


@pytest.mark.claim(
    "A set with the longest name that gangform takes runs whole; with one letter more it is accepted, and workers are "
    "never made",
    "plan.identity longest_name; lws §2e; lab E9",
)
def test_names_at_the_bound(plain: ControlPlane, saw: Saw) -> None:
    bound = named(plain, "n").plan.lead.identity.longest_name
    longest, longer = "n" * bound, "n" * (bound + 1)
    with pytest.raises(InputError) as refused:
        named(plain, longer)
    assert [each.code.id for each in refused.value.findings] == ["name-too-long"]
    made = named(plain, longest)
    with watching(plain.api, made.pods) as seen:
        apply(plain, made)
        seen.until(ready_groups(4, size=2), within=60, what="all groups run")
        apply(plain, renamed(made, longer, old=longest))

        def lone(name: object) -> list[int]:
            pods = [group_of(pod) for pod in seen.of("Pod")]
            return [index for index in range(4) if pods.count((str(name), index)) == 1]

        seen.until(
            lambda now: len([pod for pod in now.of("Pod") if group_of(pod)[0] == longer]) >= 4,
            within=60,
            what="the leaders",
        )
        left = lasts(seen, lambda now: tuple(lone(longer)))
    events = plain.api.list(made.pods.replace("/pods", "/events"))
    said = [each["message"] for each in events if each["reason"] == "FailedCreate"]
    # The hash at the end of a label has nine or ten characters: with nine a group of the longer name runs by luck.
    assert left != ()
    assert any("must be no more than 63" in each for each in said)
    saw(
        f"{bound} characters: 4 of 4 groups run; {bound + 1}: refused as name-too-long; applied, leaders stay alone"
    )


@pytest.mark.claim(
    "Under Kueue a set with the longest name that gangform takes is admitted; with one letter more its pods stay gated",
    "plan.identity longest_name; kueue §2.3; lab E4",
)
def test_names_at_the_bound_under_kueue(kueue: ControlPlane, saw: Saw) -> None:
    asked: dict[str, Any] = {"groups": 1, "admission": {"backend": "kueue", "queue": "serving"}}
    bound = named(kueue, "n", **asked).plan.lead.identity.longest_name
    longest, longer = "n" * bound, "m" * (bound + 1)
    with pytest.raises(InputError) as refused:
        named(kueue, longer, **asked)
    assert [each.code.id for each in refused.value.findings] == ["name-too-long"]
    # The quota holds both; the second is renamed.
    both = make(
        kueue.cluster, *(serving(name=name, size=2, **asked) for name in (longest, longer[1:]))
    )

    def of(name: str, now: Watch) -> list[Object]:
        return [pod for pod in now.of("Pod") if group_of(pod)[0] == name]

    def gated(now: Watch) -> tuple[bool, ...]:
        return tuple(bool(pod["spec"].get("schedulingGates")) for pod in of(longer, now))

    with watching(kueue.api, both.pods) as seen:
        apply(kueue, renamed(both, longer, old=longer[1:]))
        seen.until(
            lambda now: all(map(is_ready, of(longest, now))) and len(of(longest, now)) == 2,
            within=60,
            what="the group of the shorter name runs",
        )
        assert lasts(seen, gated) == (True, True)
    saw(
        f"{bound} characters: the group runs; {bound + 1}: refused as name-too-long; applied, its pods stay gated"
    )
