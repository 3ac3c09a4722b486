"""Real control planes: one fixture a flavour, started when the first test asks and stopped before the next flavour.

    def test_it_rolls(plain: ControlPlane) -> None:
        plain.namespace("llm")
        plain.kubectl.apply(DIST / "prod-plain/llm-xl.k8s.yaml")
        with watching(plain.api, "/api/v1/pods") as seen:
            seen.until(lambda now: …, within=60, what="all groups are ready")

`plain`     LeaderWorkerSet alone, nodes of prod-plain
`kueue`     with Kueue, nodes of prod-kueue
`volcano`   with Volcano, LeaderWorkerSet's provider for it on, nodes of prod-volcano
`podgroup`  with Volcano, that provider off, nodes of prod-volcano-topology

Each yields the running `ControlPlane` and, after the test, makes it as it was: namespaces of tests and cluster-scoped
objects of tests are gone, the nodes are the flavour's own again (`ControlPlane.reset`). `plain_plane` and so on are the
same for the whole session and without the reset, for fixtures of a wider scope. A test asks for one flavour, by the
fixture or as a parameter that is a `Flavour`; tests are run flavour by flavour, so that no more than one is up.

What a bundle names and does not bring along is made by tests: `namespace`, `claim` (a bound volume claim), `volumes`
(a storage class with volumes for claims that workloads make).
Where the programs cannot be built, every test here is skipped and says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster import evidence
from tests.cluster.binaries import Say, Unavailable
from tests.cluster.control_plane import (
    FLAVOURS,
    KUEUE,
    PLAIN,
    PODGROUP,
    VOLCANO,
    ControlPlane,
    Flavour,
    start,
)
from tests.cluster.evidence import Row, Saw
from tests.cluster.sources import Sources, prepare
from tests.signals.conftest import promtool as promtool

from gangform.inputs.load import load_fleet

FLEET = Path(__file__).parent.parent.parent / "gangform.yaml"

REQUIRED = "GANGFORM_CLUSTER_TESTS"
"""Set it to `required` and a machine that cannot run these tests fails them; otherwise they are skipped."""

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here, and bring together the tests of one flavour: no more than one is up at a time."""
    names = [flavour.name for flavour in FLAVOURS]

    def turn(item: pytest.Item) -> int:
        asked = {name.removesuffix("_plane") for name in getattr(item, "fixturenames", ())}
        chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
        asked |= {each.name for each in chosen if isinstance(each, Flavour)}
        return min((names.index(name) for name in asked if name in names), default=-1)

    own = [item for item in items if HERE in item.path.parents]
    for item in own:
        item.add_marker("cluster")
    places = [place for place, item in enumerate(items) if HERE in item.path.parents]
    for place, item in zip(places, sorted(own, key=turn), strict=True):
        items[place] = item


class Planes:
    """The control plane that is up. The one before is stopped when another flavour is asked for."""

    def __init__(self, sources: Sources, say: Say) -> None:
        self._sources, self._say = sources, say
        self._loaded = load_fleet(FLEET)
        self._up: ControlPlane | None = None

    def get(self, flavour: Flavour) -> ControlPlane:
        if self._up is None or self._up.flavour != flavour:
            self.stop()
            cluster = next(
                one for one in self._loaded.fleet.clusters if one.name == flavour.cluster
            )
            self._up = start(flavour, self._sources, cluster, self._loaded.library, self._say)
        return self._up

    def stop(self) -> None:
        if self._up is not None:
            plane, self._up = self._up, None
            plane.stop()


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Say:
    """Print a line of progress to the terminal, past pytest's capture."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    reporter = pytestconfig.pluginmanager.getplugin("terminalreporter")

    def print_line(line: str) -> None:
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(line, flush=True)

    return print_line


@pytest.fixture(scope="session")
def sources(say: Say) -> Sources:
    try:
        return prepare(say)
    except Unavailable as error:
        if os.environ.get(REQUIRED) == "required":
            raise
        pytest.skip(f"no control plane: {error}")


@pytest.fixture(scope="session")
def planes(sources: Sources, say: Say) -> Iterator[Planes]:
    planes = Planes(sources, say)
    yield planes
    planes.stop()


def _session(flavour: Flavour) -> Callable[[Planes], ControlPlane]:
    @pytest.fixture(scope="session", name=f"{flavour.name}_plane")
    def plane(planes: Planes) -> ControlPlane:
        return planes.get(flavour)

    return plane


plain_plane, kueue_plane, volcano_plane, podgroup_plane = map(_session, FLAVOURS)


def _until_reset(planes: Planes, flavour: Flavour) -> Iterator[ControlPlane]:
    plane = planes.get(flavour)
    yield plane
    plane.reset()


@pytest.fixture
def plain(planes: Planes) -> Iterator[ControlPlane]:
    yield from _until_reset(planes, PLAIN)


@pytest.fixture
def kueue(planes: Planes) -> Iterator[ControlPlane]:
    yield from _until_reset(planes, KUEUE)


@pytest.fixture
def volcano(planes: Planes) -> Iterator[ControlPlane]:
    yield from _until_reset(planes, VOLCANO)


@pytest.fixture
def podgroup(planes: Planes) -> Iterator[ControlPlane]:
    yield from _until_reset(planes, PODGROUP)


# ── evidence ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def rows() -> Iterator[list[Row]]:
    """What the claims of this run saw; written where that is asked for."""
    seen: list[Row] = []
    yield seen
    if os.environ.get(evidence.ASKED) == "write":
        evidence.write(seen)


@pytest.fixture
def saw(request: pytest.FixtureRequest, rows: list[Row]) -> Iterator[Saw]:
    """Note what was seen of the test's claim, at the end of the test. The page must say the same."""
    marker = request.node.get_closest_marker("claim")
    assert marker is not None, "a test that notes what it saw claims something"
    claim, source = marker.args
    notes: list[str] = []
    yield notes.append
    row = Row(claim=claim, source=source, test=request.node.nodeid, seen=tuple(notes))
    rows.append(row)
    if notes and os.environ.get(evidence.ASKED) != "write":
        assert evidence.line(row) in evidence.written(), (
            f"docs/evidence.md does not say what was seen; {evidence.ASKED}=write writes it"
        )
