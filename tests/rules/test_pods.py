"""Pod templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.apis.views import Documents
from gangform.documents.document import Document
from gangform.rules.rule import Context

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


def test_a_template_is_a_pod_that_the_server_takes(
    make: Make, refused: Check, accepted: Check
) -> None:
    less = make("set", {"W>C>resources>requests>nvidia.com/gpu": "4"})
    at = "workerTemplate.spec.containers[0].resources.requests[nvidia.com/gpu]"
    refused("pod-would-be-refused", at, less)
    never = make("deployment", {"spec>template>spec>restartPolicy": "Never"})
    refused("pod-would-be-refused", "spec.template.spec.restartPolicy", never)
    accepted("pod-would-be-refused", make("set"), make("deployment"))
    mount = {"name": "models", "mountPath": "/models"}
    claims = [{"metadata": {"name": "models"}, "spec": {}}]
    claimed: dict[str, Any] = {"B>C>volumeMounts": [mount], "B>spec>volumes": []}
    refused("pod-would-be-refused", "volumeMounts[0].name", make("set", claimed))
    claimed["spec>leaderWorkerTemplate>volumeClaimTemplates"] = claims
    accepted("pod-would-be-refused", make("set", claimed))


def test_what_is_only_begun_is_said_once(make: Make, registry: dict[str, Any]) -> None:
    def found(manifest: dict[str, Any]) -> list[str]:
        documents = Documents([Document(manifest=manifest, builder="")])
        rule = registry["pod-would-be-refused"]
        return [one.what for one in rule(documents.all[0], documents, Context())]

    assert found(make("set", {"B>spec": {}})) == ["a pod has at least one container"]
    probed = {"readinessProbe": {"periodSeconds": 5}, "name": "engine"}
    assert found(make("set", {"B>spec>containers": [probed]})) == [
        "container `engine` has no image"
    ]


def test_gpu_pods_request_memory_and_storage(make: Make, refused: Check, accepted: Check) -> None:
    only = {"requests": {"nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}}
    bare = make("set", {"L>C>resources": only})
    refused("gpu-pod-without-request", "containers[0].resources.requests ~ memory", bare)
    loads = {"L>C>command": ["vllm", "serve", "org/model"]}
    disk = {"requests": {"nvidia.com/gpu": "8", "memory": "9Gi"}, "limits": {"nvidia.com/gpu": "8"}}
    hub = make("set", {**loads, "L>C>resources": disk})
    refused("gpu-pod-without-disk-request", "resources.requests ~ ephemeral-storage", hub)
    accepted("gpu-pod-without-disk-request", bare, make("set", loads))
    accepted("gpu-pod-without-disk-request", make("set", {"L>C>resources": disk}))
    # Memory is asked for first: two findings on one empty place say one thing twice.
    accepted("gpu-pod-without-disk-request", make("set", {**loads, "L>C>resources": only}))
    claim = {"name": "models", "persistentVolumeClaim": {"claimName": "m"}}
    mounted = {
        "L>spec>volumes": [claim],
        "L>C>volumeMounts": [{"name": "models", "mountPath": "/root/.cache"}],
    }
    stored = make("set", {**loads, "L>C>resources": disk, **mounted})
    accepted("gpu-pod-without-disk-request", stored)
    accepted("gpu-pod-without-request", make("set"))
    accepted("gpu-pod-without-request", make("set", {"B>C>resources": {"requests": {"cpu": "1"}}}))
    accepted("gpu-pod-without-request", make("set", {"B>C>resources>requests": ...}))


def test_gpu_pods_take_no_service_links(make: Make, refused: Check, accepted: Check) -> None:
    refused(
        "service-links-on",
        "workerTemplate.spec.enableServiceLinks",
        make("set", {"W>spec>enableServiceLinks": ...}),
    )
    accepted("service-links-on", make("set"))
    accepted(
        "service-links-on", make("set", {"B>spec>enableServiceLinks": ..., "B>C>resources": {}})
    )


def test_several_gpus_share_memory(make: Make, refused: Check, accepted: Check) -> None:
    refused(
        "shared-memory-missing",
        "leaderTemplate.spec.volumes",
        make("set", {"L>C>volumeMounts": []}),
    )
    accepted("shared-memory-missing", make("set"))
    accepted("shared-memory-missing", make("set", {"B>C>volumeMounts": [], "B>spec>hostIPC": True}))
    one = {"nvidia.com/gpu": "1"}
    alone = {"B>C>volumeMounts": [], "B>C>resources": {"requests": one, "limits": one}}
    accepted("shared-memory-missing", make("set", alone))
    parts = {"nvidia.com/gpu": "2", "nvidia.com/gpumem": "8000", "nvidia.com/gpucores": "30"}
    shared = {"B>C>volumeMounts": [], "B>C>resources": {"limits": parts}}
    accepted("shared-memory-missing", make("set", {**shared, "B>C>command": ["gpu-burn"]}))
    accepted("shared-memory-missing", make("set", {**shared, "B>C>args": []}))
    refused("shared-memory-missing", "leaderTemplate.spec.volumes", make("set", shared))


def test_the_grace_period_covers_the_hook(make: Make, refused: Check, accepted: Check) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "sleep 60"]}}}
    short = make("set", {"L>C>lifecycle": hook, "L>spec>terminationGracePeriodSeconds": ...})
    refused("grace-shorter-than-pre-stop", "terminationGracePeriodSeconds ~ 60 s", short)
    accepted("grace-shorter-than-pre-stop", make("set", {"L>C>lifecycle": hook}))
    native = {"preStop": {"sleep": {"seconds": 150}}}
    refused(
        "grace-shorter-than-pre-stop",
        "terminationGracePeriodSeconds ~ 180",
        make("set", {"L>C>lifecycle": native}),
    )


def test_a_headless_process_has_no_http_probe(make: Make, refused: Check, accepted: Check) -> None:
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    wrong = make("set", {"W>C>readinessProbe": probe})
    refused("probe-without-server", "workerTemplate.spec.containers[0].readinessProbe", wrong)
    accepted("probe-without-server", make("set"))
    command = {"exec": {"command": ["true"]}}
    accepted("probe-without-server", make("set", {"W>C>readinessProbe": command}))


def test_a_probe_names_a_port_of_its_container(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("set", {"L>C>ports": [{"name": "web", "containerPort": 8000}]})
    refused(
        "probe-port-unnamed",
        "startupProbe.httpGet.port ~ write port: web, or name a port `http`",
        wrong,
    )
    accepted("probe-port-unnamed", make("set"))


def test_liveness_waits_for_the_engine(make: Make, refused: Check, accepted: Check) -> None:
    live = {"httpGet": {"path": "/health", "port": "http"}, "initialDelaySeconds": 900}
    early = make("set", {"L>C>livenessProbe": live, "L>C>startupProbe": ...})
    refused("liveness-before-loaded", "livenessProbe.initialDelaySeconds ~ 930 s", early)
    accepted("liveness-before-loaded", make("set", {"L>C>livenessProbe": live}))
    late = {**live, "initialDelaySeconds": 3600}
    patient = make("set", {"L>C>livenessProbe": late, "L>C>startupProbe": ...})
    accepted("liveness-before-loaded", patient)


def test_a_serving_leader_has_its_probes(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("set", {"L>C>startupProbe": ..., "L>C>readinessProbe": ...})
    refused("startup-probe-missing", "leaderTemplate.spec.containers[0].startupProbe", bare)
    refused("readiness-probe-missing", "leaderTemplate.spec.containers[0].readinessProbe", bare)
    for code in ("startup-probe-missing", "readiness-probe-missing"):
        accepted(code, make("set"), make("deployment"))
        accepted(code, make("set", {"L>C>resources": {}, "L>C>readinessProbe": ...}))
    accepted("startup-probe-missing", make("set"))
    accepted("readiness-probe-missing", make("set"))
    asleep = {"L>C>command": ["sh", "-c", "sleep 36000"], "L>C>args": [], "L>C>readinessProbe": ...}
    accepted("readiness-probe-missing", make("set", asleep))
    words = ["vllm", "serve", "m", "--nnodes=2", "--node-rank=1"]
    follower: dict[str, Any] = {"spec>template>spec>containers>0>command": words}
    follower["spec>template>spec>containers>0>readinessProbe"] = ...
    accepted("readiness-probe-missing", make("deployment", follower))


def test_an_image_is_named_and_dated(make: Make, refused: Check, accepted: Check) -> None:
    for image in ("ghcr.io/Team/Engine:v1", "a//b:1"):
        at = "workerTemplate.spec.containers[0].image"
        refused("image-name-invalid", at, make("set", {"W>C>image": image}))
    for image in ("r.example:5000/a/b:v1", "a__b/c:1", "localhost/x@sha256:" + "a" * 64):
        accepted("image-name-invalid", make("set", {"B>C>image": image}))
        accepted("image-tag-moves", make("set", {"B>C>image": image}))
    for image in ("r.example:5000/vllm", "vllm/vllm-openai:latest"):
        refused("image-tag-moves", "containers[0].image", make("set", {"L>C>image": image}))
    helper = make("set", {"L>spec>initContainers": [{"name": "wait", "image": "busybox"}]})
    refused("helper-image-tag-moves", "initContainers[0].image", helper)
    accepted("image-tag-moves", helper)
    accepted("helper-image-tag-moves", make("set", {"L>C>image": "vllm/vllm-openai"}))


def test_the_engines_own_limit_is_no_shorter_than_the_probe(
    make: Make, refused: Check, accepted: Check
) -> None:
    """The probe of the set allows 360 x 10 s."""
    name = "VLLM_ENGINE_READY_TIMEOUT_S"
    short = make("set", {"L>C>env": [{"name": name, "value": "600"}]})
    refused("start-limit-below-probe", "leaderTemplate.spec.containers[0].env ~ write 3600", short)
    enough = make("set", {"L>C>env": [{"name": name, "value": "3600"}]})
    elsewhere = make("set", {"W>C>env": [{"name": name, "value": "600"}]})
    one = make("deployment")
    accepted("start-limit-below-probe", enough, one)
    # Where it is not written it is 600 s, which matters to starts over several pods.
    refused("start-limit-below-probe", "leaderTemplate.spec.containers[0].env ~ not set", elsewhere)
    taken = make("set", {"L>C>envFrom": [{"configMapRef": {"name": "x"}}]})
    accepted("start-limit-below-probe", taken)


def test_containers_of_a_pod_open_ports_of_their_own(
    make: Make, refused: Check, accepted: Check
) -> None:
    def beside(**port: object) -> dict[str, Any]:
        leader = make("set")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]
        return make("set", {"L>spec>containers": [*leader, {"name": "proxy", "ports": [port]}]})

    at = "leaderTemplate.spec.containers[1].ports[0]"
    refused("container-ports-collide", f"{at}.containerPort", beside(containerPort=8000))
    refused("container-ports-collide", f"{at}.name", beside(containerPort=9000, name="http"))
    accepted(
        "container-ports-collide",
        make("set"),
        beside(containerPort=8000, protocol="UDP"),
        beside(containerPort=9000, name="proxy"),
    )
