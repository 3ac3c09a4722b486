"""Addresses, interfaces and devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
NIXL = '--kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_producer"}'
HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
SERVE = ["--tensor-parallel-size=8", NIXL]
POD_IP = {"name": HOST, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def test_the_address_for_caches_is_set(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("set", {"B>C>args": SERVE})
    for template in ("leaderTemplate", "workerTemplate"):
        at = f"{template}.spec.containers[0].env ~ its default is localhost"
        refused("transfer-host-unset", at, bare)
    inner = '{"connectors":[{"kv_connector":"NixlConnector"}]}'
    nested = f'{{"kv_connector":"MultiConnector","kv_connector_extra_config":{inner}}}'
    refused(
        "transfer-host-unset",
        "containers[0].env",
        make("set", {"L>C>args": [f"--kv-transfer-config={nested}"]}),
    )
    script = f"export {HOST}=$(hostname -i); exec vllm serve /m '{NIXL}'"
    accepted(
        "transfer-host-unset",
        make("set"),
        make("set", {"B>C>args": SERVE, "B>C>env": [POD_IP]}),
        make("set", {"B>C>args": SERVE, "B>C>envFrom": [{"configMapRef": {"name": "x"}}]}),
        make("set", {"B>C>command": ["bash", "-c"], "B>C>args": [script]}),
        make("set", {"B>C>args": ["--kv-transfer-config={not json"]}),
        make("set", {"B>C>args": ['--kv-transfer-config={"kv_connector":"OffloadingConnector"}']}),
    )


def test_the_address_for_caches_leads_to_the_pod(
    make: Make, refused: Check, accepted: Check
) -> None:
    for value in ("0.0.0.0", "localhost", "::"):
        env = [{"name": HOST, "value": value}]
        wrong = make("set", {"B>C>args": SERVE, "B>C>env": env})
        refused("transfer-host-wrong", f"containers[0].env[0].value ~ is {value}", wrong)
        accepted("transfer-host-unset", wrong)
    script = f"export {HOST}=0.0.0.0; exec vllm serve /m '{NIXL}'"
    refused(
        "transfer-host-wrong",
        "containers[0].args[0]",
        make("set", {"B>C>command": ["bash", "-c"], "B>C>args": [script]}),
    )
    for host, check in (("127.0.0.1", refused), ("$(POD_IP)", accepted)):
        extra = f'{{"http_ip":"{host}","http_port":"20001"}}'
        config = f'{{"kv_connector":"P2pNcclConnector","kv_connector_extra_config":{extra}}}'
        two = make("set", {"B>C>args": [f"--kv-transfer-config={config}"]})
        check("transfer-host-wrong", *(["args ~ http_ip is"] if check is refused else []), two)
    given = [{"name": "IP", "valueFrom": {}}, {"name": HOST, "value": "$(IP)"}]
    accepted(
        "transfer-host-wrong",
        make("set", {"B>C>args": SERVE, "B>C>env": [POD_IP]}),
        make("set", {"B>C>args": SERVE, "B>C>env": given}),
        make("set", {"B>C>env": [{"name": HOST, "value": "0.0.0.0"}]}),
    )
    # Prefill and decode in one pod mean each other.
    pair = make("set", {"L>C>args": SERVE, "L>C>env": [{"name": HOST, "value": "localhost"}]})
    spec = pair["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    spec["containers"].append({**spec["containers"][0], "name": "decode"})
    accepted("transfer-host-wrong", pair)


def test_gloo_takes_names(make: Make, refused: Check, accepted: Check) -> None:
    for value in ("^lo,docker0", "=eth0"):
        env = [{"name": "GLOO_SOCKET_IFNAME", "value": value}]
        refused(
            "gloo-interface-invalid", "containers[0].env[0].value", make("set", {"B>C>env": env})
        )
    script = "export GLOO_SOCKET_IFNAME=^lo; exec vllm serve /m"
    shell = {"B>C>command": ["bash", "-c"], "B>C>args": [script]}
    refused("gloo-interface-invalid", "containers[0].args[0]", make("set", shell))
    env = [
        {"name": "NCCL_SOCKET_IFNAME", "value": "^lo,docker0"},
        {"name": "GLOO_SOCKET_IFNAME", "value": "eth0,eth1"},
    ]
    accepted("gloo-interface-invalid", make("set", {"B>C>env": env}))


def test_named_devices_are_there(make: Make, refused: Check, accepted: Check) -> None:
    env = {"B>C>env": [{"name": "NCCL_IB_HCA", "value": "mlx5"}]}
    refused("rdma-without-device", "leaderTemplate.spec.containers[0].env[0]", make("set", env))
    off = [*env["B>C>env"], {"name": "NCCL_IB_DISABLE", "value": "1"}]
    injected = [*env["B>C>env"], {"name": "NVIDIA_MOFED", "value": "enabled"}]
    amounts = make("set")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]
    limits = {**amounts[0]["resources"]["limits"], "rdma/ib": "1"}
    networks = {"networking.gke.io/interfaces": "[]"}
    for more in (
        {"B>C>resources": {"limits": limits}},
        {"B>C>securityContext": {"privileged": True}},
        {"B>spec>hostNetwork": True},
        {"B>spec>resourceClaims": [{"name": "nic"}]},
        {"B>spec>runtimeClassName": "kata"},
        {"B>spec>volumes": [{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}]},
        {"B>metadata>annotations": networks},
        {"B>C>env": off},
        {"B>C>env": injected},
        {"B>C>env": [{"name": "NCCL_SOCKET_IFNAME", "value": "eth0"}]},
    ):
        accepted("rdma-without-device", make("set", {**env, **more}))
    plain = make("set", {**env, "B>spec>runtimeClassName": "nvidia"})
    refused("rdma-without-device", "containers[0].env[0]", plain)
