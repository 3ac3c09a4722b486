"""Volcano with PodGroups of ours, one set a group: a group starts whole and inside one domain, or holds nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.gangs import POD_GROUPS, bound_pods, lasts, racks, waits
from tests.cluster.servings import Made, apply, count, domains, make, ready_groups, serving
from tests.cluster.watch import watching

from gangform.findings import InputError
from gangform.inputs.serving import Serving

RACK = "topology.example.com/rack"
SIZE = 3
"""Pods of a group; a rack has four nodes."""


def racked(*, groups: int = 2, **fields: object) -> Serving:
    """A serving whose groups each have to lie in one rack."""
    asked: dict[str, object] = {
        "topology": {"level": RACK, "mode": "required"},
        "admission": {"backend": "volcano-podgroup", "queue": "serving"},
        **fields,
    }
    return serving(name="r1", size=SIZE, groups=groups, **asked)


def nodes(plane: ControlPlane, **wanted: int) -> list[Object]:
    """So many nodes of each rack."""
    found: list[Object] = []
    for rack, number in wanted.items():
        of_rack = [node for node in plane.own_nodes if node["metadata"]["labels"].get(RACK) == rack]
        found += of_rack[:number]
    return found


def without(made: Made, kind: str) -> Made:
    """The same files with no document of a kind."""
    files = {
        name: yaml.safe_dump_all(
            [each for each in yaml.safe_load_all(content) if each["kind"] != kind]
        ).encode()
        for name, content in made.files.items()
    }
    return replace(made, files=files)


@pytest.mark.claim(
    "With PodGroups of ours a group holds nothing while no rack takes it whole, though enough nodes are free, and "
    "then starts inside one",
    "admission.volcano-podgroup; plan.demands; lab E8",
)
def test_a_group_waits_for_one_rack(podgroup: ControlPlane, saw: Saw) -> None:
    made = make(podgroup.cluster, racked())
    groups = POD_GROUPS.format(namespace=made.plan.namespace)
    podgroup.set_nodes(nodes(podgroup, r0=4, r1=2, r2=2))
    with watching(podgroup.api, made.pods, groups) as seen:
        apply(podgroup, made)
        seen.until(
            lambda now: count(now.of("Pod"), size=SIZE).ready == 1 and waits(now),
            within=60,
            what="one group serves and one waits",
        )
        assert lasts(seen, bound_pods) == (0, SIZE)
        free = 8 - SIZE
        podgroup.set_nodes(nodes(podgroup, r0=4, r1=3, r2=2))
        seen.until(ready_groups(2, size=SIZE), within=60, what="the other group runs too")
    placed = domains(seen.of("Pod"), racks(podgroup, RACK))
    assert sorted(map(list, placed.values())) == [["r0"], ["r1"]]
    live = {each["metadata"]["name"]: each["spec"] for each in seen.of("PodGroup")}
    for demand in made.plan.demands:
        spec = live.pop(demand.workload)
        assert spec["minMember"] == demand.size == SIZE
        assert spec["minResources"] == demand.group.spelled()
        assert spec["queue"] == demand.queue
        assert spec["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}
    assert live == {}
    saw(f"{free} nodes free, in no rack {SIZE} of them: 0 of {SIZE} pods bound")
    saw("with a third node free in r1 the group runs there")


@pytest.mark.claim(
    "Without HyperNodes a required level is dropped in silence; the foundation has them, and without domain values "
    "gangform refuses",
    "hypernodes-need-domains; design §3 Cluster; lab E8",
)
def test_without_hyper_nodes_a_rack_is_not_kept(podgroup: ControlPlane, saw: Saw) -> None:
    made = make(podgroup.cluster, racked())
    assert {each["kind"] for each in made.documents} > {"HyperNode", "PodGroup"}
    podgroup.set_nodes(nodes(podgroup, r0=4, r1=2, r2=2))
    groups = POD_GROUPS.format(namespace=made.plan.namespace)
    with watching(podgroup.api, made.pods, groups) as seen:
        apply(podgroup, without(made, "HyperNode"))
        seen.until(ready_groups(2, size=SIZE), within=60, what="both groups run")
    assert {each["spec"]["networkTopology"]["mode"] for each in seen.of("PodGroup")} == {"hard"}
    placed = domains(seen.of("Pod"), racks(podgroup, RACK))
    assert any(len(each) > 1 for each in placed.values())
    pool = podgroup.cluster.pools["h100"].model_copy(update={"domains": None})
    unknown = podgroup.cluster.model_copy(update={"pools": {"h100": pool}})
    with pytest.raises(InputError) as refused:
        make(unknown, racked())
    assert [finding.code.id for finding in refused.value.findings] == ["hypernodes-need-domains"]
    saw(
        "2 of 2 groups run, at least one over several racks; without domains: hypernodes-need-domains"
    )
