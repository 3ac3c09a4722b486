"""What several backends check alike: a host that holds a group, and a release that is declared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gangform.admission.admission import Demand, Placement, backend
from gangform.inputs.cluster import Cluster, Installed
from gangform.units import Resources

HOST = "kubernetes.io/hostname"
MakeCluster = Callable[..., Cluster]
MakeDemand = Callable[..., Demand]
Codes = Callable[..., list[str]]


@pytest.mark.parametrize("name", ["kueue", "volcano", "volcano-podgroup", "none"])
def test_a_group_of_whole_nodes_lies_on_no_single_host(
    name: str, make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    held, wished = Placement(HOST, "required"), Placement(HOST, "preferred")
    check, cluster = backend(name).check, make_cluster()
    (found,) = [
        one
        for one in check(make_demand(placement=held), cluster)
        if one.code.id == "host-cannot-hold-group"
    ]
    assert found.breaks
    assert "a host takes 1 pods of r1, a group is 2" in found.what
    half = Resources({"nvidia.com/gpu": 4})
    for fits in (
        make_demand(placement=wished),
        make_demand(placement=held, size=1),
        make_demand(placement=held, leader=half, worker=half),
    ):
        assert "host-cannot-hold-group" not in codes(check(fits, cluster))


@pytest.mark.parametrize("name", ["volcano", "volcano-podgroup"])
def test_a_backend_needs_its_own_release(
    name: str, make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    without = make_cluster(versions=Installed(kubernetes="1.36", lws="0.10"))
    assert codes(backend(name).check(make_demand(), without)) == ["release-missing"]
    assert codes(backend(name).check(make_demand(), make_cluster())) == []
    assert codes(backend("none").check(make_demand(), without)) == []
