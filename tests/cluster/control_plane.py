"""Placeholder for signatures (being written).

class ControlPlane:
    flavour: Flavour               # PLAIN, KUEUE, VOLCANO, PODGROUP
    cluster: Cluster               # the fleet's input the nodes were made from
    api: Api                       # tests/cluster/api.py
    kubectl: Kubectl               # tests/cluster/kubectl.py
    def namespace(self, name: str, labels: dict | None = None) -> str     # made, with its service account; gone at reset
    def set_nodes(self, nodes: Sequence[Object]) -> None    # exactly these, Ready (see nodes.nodes_of / nodes.node)
    def reset(self) -> None
    def log(self, program: str) -> str
    def stop_program / start_program(name)
    def memory(self) -> dict[str, int]                       # MiB a process

nodes.py:  nodes_of(cluster, library) -> list[Object];  node(name, shape, labels) -> Object
watch.py:  watching(api, *paths) -> Watch: objects, events, of(kind), until(condition, within=, what=), replay()

Steering a fake kubelet, pod annotations (in the template or on a live pod):
    kubelet.test/start-delay   bound -> Running (default 200ms)      kubelet.test/ready-delay   Running -> Ready (1500ms)
    kubelet.test/delete-delay  deletion -> gone (500ms)              kubelet.test/unready: "true"
    kubelet.test/restart: "true"   one container restart (restartCount 1)
Node label kubelet.test/not-ready: "true": the node is NotReady.
"""
