"""A whole control plane on loopback: started in about ten seconds, reset between tests, stopped without a trace."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import cleaning, crds, kubernetes, kueue, lws, volcano
from tests.cluster.api import Api, Object
from tests.cluster.binaries import Say
from tests.cluster.kubectl import Kubectl
from tests.cluster.nodes import altered, nodes_of, ready
from tests.cluster.site import Site
from tests.cluster.sources import Sources

from gangform.inputs.cluster import Cluster, Library


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavour:
    """Which controllers run, and the cluster of the fleet that gives the nodes."""

    name: str
    cluster: str
    kueue: bool = False
    volcano: bool = False
    provider: bool = False
    """LeaderWorkerSet's provider for Volcano, which makes a PodGroup for each group."""


PLAIN = Flavour(name="plain", cluster="prod-plain")
KUEUE = Flavour(name="kueue", cluster="prod-kueue", kueue=True)
VOLCANO = Flavour(name="volcano", cluster="prod-volcano", volcano=True, provider=True)
PODGROUP = Flavour(name="podgroup", cluster="prod-volcano-topology", volcano=True)
FLAVOURS = (PLAIN, KUEUE, VOLCANO, PODGROUP)


class ControlPlane:
    """A control plane that runs. Make one with `start`."""

    def __init__(
        self, site: Site, flavour: Flavour, cluster: Cluster, own: Sequence[Object]
    ) -> None:
        self.flavour = flavour
        self.cluster = cluster
        """The input that the nodes were made from."""
        self.own_nodes = tuple(own)
        """The nodes of the flavour; `set_nodes` takes these, fewer, more or others."""
        self.site = site
        self._kept: frozenset[str] = frozenset()

    @property
    def api(self) -> Api:
        return self.site.api

    @property
    def kubectl(self) -> Kubectl:
        return self.site.kubectl

    # ── what tests put on it ─────────────────────────────────────────────────────────────────────

    def namespace(self, name: str, *, labels: Mapping[str, str] | None = None) -> str:
        """Make a namespace, usable at once; it is gone after the test."""
        metadata = {"name": name, "labels": dict(labels or {})}
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        self.site.wait(f"namespace {name}", lambda: self.api.find(account))
        return name

    def claim(self, namespace: str, name: str, *, size: str = "1Ti") -> None:
        """Make a claim with a volume of its own, bound: nobody provisions volumes here, and pods wait for theirs."""
        spec = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        volume = f"{namespace}-{name}"
        self.api.apply(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume},
                "spec": {**spec, "capacity": {"storage": size}, "hostPath": {"path": "/models"}},
            }
        )
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {**spec, "volumeName": volume, "resources": {"requests": {"storage": size}}},
        }
        path = self.api.path_of(self.api.apply(claim).object)
        self.site.wait(f"claim {name}", lambda: self.api.get(path)["status"]["phase"] == "Bound")

    def volumes(self, storage_class: str, count: int, *, size: str = "4Ti") -> None:
        """Make a storage class with so many volumes, for the claims that a workload makes for its pods."""
        self.api.apply(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": storage_class},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "Immediate",
            }
        )
        for number in range(count):
            spec = {
                "storageClassName": storage_class,
                "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
                "capacity": {"storage": size},
                "hostPath": {"path": "/models"},
            }
            metadata = {"name": f"{storage_class}-{number}"}
            volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata}
            self.api.apply({**volume, "spec": spec})

    def set_nodes(self, nodes: Sequence[Object]) -> None:
        """Have exactly these nodes, all ready. Make them with `nodes.node`, or take of `own_nodes`."""
        wanted = {node["metadata"]["name"]: node for node in nodes}
        for node in self.api.list("/api/v1/nodes"):
            name = node["metadata"]["name"]
            if name not in wanted or altered(node, wanted[name]):
                self.api.delete(f"/api/v1/nodes/{name}", grace=0)
        there = {node["metadata"]["name"] for node in self.api.list("/api/v1/nodes")}
        for name, node in wanted.items():
            if name not in there:
                self.api.create("/api/v1/nodes", node)
        self.site.wait("nodes", lambda: self._all_ready(set(wanted)))

    def _all_ready(self, names: set[str]) -> bool:
        found = self.api.list("/api/v1/nodes")
        return {node["metadata"]["name"] for node in found} == names and all(map(ready, found))

    def reset(self) -> None:
        """Make it as it was after the start: what tests made is gone, in their namespaces and beside them.

        What they put into `default` and `kube-system` is left: a test has a namespace of its own.
        """
        names = [
            path.rpartition("/")[2]
            for path in self._paths()
            if path not in self._kept and "/namespaces/" in path
        ]
        cleaning.remove_namespaces(self.site, names)
        for path in self._paths():
            if path not in self._kept:
                self._remove(path)
        self.set_nodes(self.own_nodes)

    def _remove(self, path: str) -> None:
        """Delete one object that belongs to no namespace; what depends on it may have to go first."""

        def gone() -> bool:
            self.api.delete(path)
            return self.api.find(path) is None

        self.site.wait(f"{path} to be gone", gone, within=30)

    def _paths(self) -> Iterator[str]:
        """The paths of everything that tests may make and that belongs to no namespace."""
        collections = [
            "/api/v1/namespaces",
            "/api/v1/persistentvolumes",
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            "/apis/storage.k8s.io/v1/storageclasses",
        ]
        for crd in self.api.list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"):
            spec = crd["spec"]
            if spec["scope"] == "Cluster":
                version = next(one["name"] for one in spec["versions"] if one["storage"])
                collections.append(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
        for collection in collections:
            for each in self.api.list(collection):
                yield f"{collection}/{each['metadata']['name']}"

    # ── the processes ────────────────────────────────────────────────────────────────────────────

    def log(self, program: str) -> str:
        """What a program has printed: `lws`, `kueue`, `kube-scheduler`, `vc-controller-manager` …"""
        return self.site.processes.log(program)

    def memory(self) -> dict[str, int]:
        """Resident memory of each program, in MiB."""
        return self.site.processes.memory()

    def stop(self) -> None:
        """End what was started, and remove the folder."""
        self.api.close()
        self.site.processes.stop_all()

    def _start(self) -> None:
        site, flavour = self.site, self.flavour
        kubernetes.start_server(site)
        kubernetes.start_controllers(site)
        lws.install_crds(site)
        lws.start(site, provider=flavour.provider)
        if flavour.kueue:
            kueue.install_crds(site)
            kueue.start(site)
        if flavour.volcano:
            volcano.install_crds(site)
            volcano.start(site, self.cluster.volcano.plugins or ())
        crds.install(site, site.sources.crds(*crds.BESIDE))
        self.set_nodes(self.own_nodes)
        lws.finish(site)
        if flavour.kueue:
            kueue.finish(site)
        if flavour.volcano:
            volcano.finish(site)
        self._kept = frozenset(self._paths())


def start(
    flavour: Flavour, sources: Sources, cluster: Cluster, library: Library, say: Say
) -> ControlPlane:
    """Start a control plane with the nodes of a cluster's pools.

    Raises:
        Unavailable: The machine lacks what it takes.
        StartError: A part did not come up.
    """
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix=f"gangform-{flavour.name}-"))
    site = Site(folder, sources)
    plane = ControlPlane(site, flavour, cluster, nodes_of(cluster, library))
    try:
        plane._start()
    except BaseException:
        plane.stop()
        raise
    memory = sum(plane.memory().values())
    say(f"{flavour.name}: up in {time.monotonic() - began:.1f} s, {memory} MiB")
    return plane
