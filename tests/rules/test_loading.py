"""Packages and models that a start fetches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]


def script(text: str) -> dict[str, Any]:
    return {"B>C>command": ["bash", "-c"], "B>C>args": [text]}


def test_a_start_installs_nothing(make: Make, refused: Check, accepted: Check) -> None:
    for install in (
        "pip install a",
        "pip3 --no-cache-dir install a",
        "python3 -m pip install a",
        "uv pip install --system a",
        "apt-get update; apt-get install -y a",
        "/usr/bin/apk add a",
    ):
        wrong = make("set", script(f"{install} && exec vllm serve /models/m"))
        at = "leaderTemplate.spec.containers[0].args[0]"
        refused("packages-installed-at-start", at, wrong)
    for fine in (
        "exec vllm serve /models/m",
        "pip list; exec vllm serve /models/m",
        "pip install --no-index /wheels/a.whl; exec vllm serve /models/m",
        "if [ $A ]; then pip install a; fi; exec vllm serve /models/m",
        "echo 'pip install a'; exec vllm serve /models/m",
    ):
        accepted("packages-installed-at-start", make("set", script(fine)))
    beside = {"name": "tools", "image": "a:1", "command": ["sh", "-c", "apk add curl"]}
    accepted("packages-installed-at-start", make("set", {"B>spec>initContainers": [beside]}))


def cached(folder: str, *, model: str = "org/m-120b", mount: str = "/cache") -> dict[str, Any]:
    volumes = [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "hub", "persistentVolumeClaim": {"claimName": "hub"}},
    ]
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    mounts += [{"name": "hub", "mountPath": mount}] if mount else []
    return {
        "B>C>command": ["vllm", "serve", model],
        "B>C>env": [{"name": "HF_HOME", "value": folder}],
        "B>spec>volumes": volumes,
        "B>C>volumeMounts": mounts,
    }


def test_a_model_goes_onto_the_volume_for_it(make: Make, refused: Check, accepted: Check) -> None:
    at = "leaderTemplate.spec.containers[0].env[0].value"
    wrong = make("set", cached("/scratch/hub"))
    refused("cache-beside-volume", f"{at} ~ /cache stays empty", wrong)
    accepted("cache-in-container", wrong)
    small = make("set", cached("/scratch/hub", model="org/m-405b", mount=""))
    refused("cache-beside-volume", f"{at} ~ exceeds the limit", small)
    fits = make("set", cached("/scratch/hub", model="org/m-8b", mount=""))
    refused("cache-in-container", at, fits)
    accepted("cache-beside-volume", fits)
    from_map = {**cached("/scratch"), "B>C>envFrom": [{"configMapRef": {"name": "x"}}]}
    for fine in (
        make("set"),
        make("set", cached("/cache/hub")),
        make("set", cached("/scratch", model="/models/m")),
        make("set", from_map),
        make("set", {**cached("/scratch"), "B>C>args": ["--download-dir=/cache"]}),
        make("set", {**cached("/scratch"), "B>C>env": []}),
        make("set", cached("$(HOME)/hub")),
    ):
        accepted("cache-beside-volume", fine)
        accepted("cache-in-container", fine)


def test_a_volume_holds_its_model(make: Make, refused: Check, accepted: Check) -> None:
    code = "volume-smaller-than-model"

    def on(source: dict[str, Any], model: str = "org/m-405b") -> dict[str, Any]:
        changes = cached("/cache/hub", model=model)
        changes["B>spec>volumes"] = [changes["B>spec>volumes"][0], {"name": "hub", **source}]
        return make("set", changes)

    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "hub", "namespace": "llm"},
        "spec": {"resources": {"requests": {"storage": "100Gi"}}},
    }
    named = {"persistentVolumeClaim": {"claimName": "hub"}}
    at = "PersistentVolumeClaim/hub spec.resources.requests.storage ~ at least 188Gi"
    refused("volume-smaller-than-model", at, on(named), claim)
    limited = {"emptyDir": {"sizeLimit": "100Gi"}}
    refused(code, "volumes[1].emptyDir.sizeLimit", on(limited))
    asks = {"resources": {"requests": {"storage": "100Gi"}}}
    inline = {"ephemeral": {"volumeClaimTemplate": {"spec": asks}}}
    refused(code, "volumeClaimTemplate.spec.resources.requests.storage", on(inline))
    there = cached("/x", model="/cache/m-405b")
    there["B>spec>volumes"] = [there["B>spec>volumes"][0], {"name": "hub", **limited}]
    refused(code, "volumes[1].emptyDir.sizeLimit", make("set", there))
    accepted(
        "volume-smaller-than-model",
        make("set"),
        on(named),
        on({"emptyDir": {}}),
        on({"emptyDir": {"sizeLimit": "900Gi"}}),
        on(limited, "org/m"),
        on(limited, "org/m-8b"),
        on(limited, "org/m-405b-gguf"),
    )
