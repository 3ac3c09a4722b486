"""The shipped fleet as a reader of its files sees it, and published schemas to hold it against.

Core kinds: the JSON schemas of the PyPI package `kubernetes-validate`. Custom kinds: the CRDs of the releases that
are pinned here, out of their Go modules; the operator's are generated from its Go types, since no module holds them.
Both are read as the server reads them with `--validate=strict`: a field that the schema does not know is a fault.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource

from gangform.inputs.load import Loaded, load_fleet, load_text
from gangform.synth import synthesise

ROOT = Path(__file__).parent.parent.parent
FLEET = ROOT / "gangform.yaml"

Object = dict[str, Any]
"""A document, a part of one, or a schema, as plain data."""


class Shipped(NamedTuple):
    """One document of the fleet."""

    release: str
    """The Kubernetes release that its cluster declares: `1.36`."""
    manifest: Object


Faults = Callable[[str, Object], list[str]]
"""Release of Kubernetes, object → what is wrong with it, one text a fault."""
CustomFaults = Callable[[Object], list[str]]
Schemas = Mapping[tuple[str, str], Object]
"""apiVersion and kind → the `openAPIV3Schema` of that version."""


class Module(NamedTuple):
    """A Go module, and the folder inside it that holds CRDs."""

    path: str
    version: str
    folder: str


MODULES = (
    Module("sigs.k8s.io/lws", "v0.9.0", "config/crd/bases"),
    Module("sigs.k8s.io/kueue", "v0.17.0", "config/components/crd/bases"),
    Module("volcano.sh/volcano", "v1.14.1", "config/crd/volcano/bases"),
    Module("sigs.k8s.io/gateway-api-inference-extension", "v1.1.0", "config/crd/bases"),
    Module("github.com/kedacore/keda/v2", "v2.18.0", "config/crd/bases"),
)
MONITORING = Module(
    "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring", "v0.95.2", "v1"
)
GENERATOR = Module("sigs.k8s.io/controller-tools", "v0.23.0", "cmd/controller-gen")
"""Writes CRDs out of Go types. Its build is what a cold run waits for."""


# ── documents ────────────────────────────────────────────────────────────────────────────────────


DRESS: Object = {
    "network": {
        "clients": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateway"}}}
        ],
        "scrapers": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
    },
    "pods": {
        "imagePullSecrets": ["registry"],
        "securityContext": {"fsGroup": 1000, "supplementalGroups": [44]},
        "containerSecurityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "initContainers": [
            {
                "name": "wait",
                "image": "busybox:1.37",
                "env": [
                    {"name": "CORES", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}
                ],
                "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
            }
        ],
        "sidecars": [
            {
                "name": "logs",
                "image": "example.com/logs@sha256:" + 64 * "0",
                "ports": [{"containerPort": 9000}],
                "livenessProbe": {"grpc": {"port": 9000}},
                "envFrom": [{"secretRef": {"name": "logs", "optional": True}}],
                "resources": {
                    "requests": {"cpu": "100m", "memory": "64Mi"},
                    "limits": {"memory": "64Mi"},
                },
            }
        ],
        "tolerations": [
            {"key": "team", "value": "llm", "effect": "NoExecute", "tolerationSeconds": 60}
        ],
        "nodeSelector": {"team": "llm"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                    ]
                }
            }
        },
        "labels": {"team": "llm"},
        "annotations": {"example.com/owner": "llm"},
        "env": [{"name": "NCCL_DEBUG", "value": "WARN"}],
        "volumes": [
            {"name": "settings", "configMap": {"name": "settings"}},
            {
                "name": "token",
                "projected": {
                    "sources": [{"serviceAccountToken": {"path": "token", "audience": "a"}}]
                },
            },
        ],
        "volumeMounts": [{"name": "settings", "mountPath": "/settings", "readOnly": True}],
        "priorityClassName": "serving",
    },
}
"""What the fleet does not ask for, put on each of its servings for a second rendering."""


@pytest.fixture(scope="session")
def shipped() -> Sequence[Shipped]:
    return _documents(load_fleet(FLEET))


@pytest.fixture(scope="session")
def documents(shipped: Sequence[Shipped]) -> Sequence[Shipped]:
    """The fleet as it is, and once more with everything around its pods."""
    fleet = yaml.safe_load(FLEET.read_bytes())
    for serving in fleet["servings"]:
        serving |= DRESS
    return [*shipped, *_documents(load_text(json.dumps(fleet)))]


def _documents(loaded: Loaded) -> list[Shipped]:
    made = synthesise(loaded.fleet, loaded.library)
    releases = {
        cluster.name: str(cluster.versions.releases.kubernetes) for cluster in loaded.fleet.clusters
    }
    return [
        Shipped(releases[file.path.partition("/")[0]], manifest)
        for file in made.files
        for manifest in yaml.safe_load_all(file.content)
    ]


# ── what both sorts of schemas share ─────────────────────────────────────────────────────────────

FORMATS = FormatChecker(formats=())


def _fits(bits: int) -> Callable[[object], bool]:
    limit = 1 << (bits - 1)
    return lambda value: not isinstance(value, int) or -limit <= value < limit


FORMATS.checks("int32")(_fits(32))
FORMATS.checks("int64")(_fits(64))


def _unique(
    _validator: Any, keys: Sequence[str], items: Any, _schema: Any
) -> Iterator[ValidationError]:
    seen = []
    for item in items if isinstance(items, list) else ():
        key = [item.get(name) for name in keys]
        if key in seen:
            yield ValidationError(f"{dict(zip(keys, key, strict=True))} stands twice")
        seen.append(key)


def _set(_validator: Any, kind: str, items: Any, _schema: Any) -> Iterator[ValidationError]:
    if kind == "set" and isinstance(items, list):
        for index, item in enumerate(items):
            if item in items[:index]:
                yield ValidationError(f"{item!r} stands twice")


KubernetesValidator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"x-kubernetes-list-map-keys": _unique, "x-kubernetes-list-type": _set},
)


def _told(validator: Any, manifest: Object) -> list[str]:
    name = f"{manifest.get('kind')}/{manifest.get('metadata', {}).get('name')}"
    return [
        f"{name} {error.json_path.removeprefix('$.')}: {error.message[:300]}"
        for error in validator.iter_errors(manifest)
    ]


# ── core kinds ───────────────────────────────────────────────────────────────────────────────────


@cache
def _published(release: str, name: str) -> Object:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{release}.0-local-strict"
    schema: Object = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return schema


@cache
def _core_validator(release: str, name: str) -> Any:
    definitions = Resource.from_contents(_published(release, "_definitions"))
    registry: Registry[Any] = Registry().with_resource("/api/_definitions.json", definitions)
    registry = definitions @ registry
    schema = _published(release, name)
    return KubernetesValidator(schema, registry=registry, format_checker=FORMATS)


@pytest.fixture(scope="session")
def core_faults() -> Faults:
    def faults(release: str, manifest: Object) -> list[str]:
        group, _, version = manifest["apiVersion"].rpartition("/")
        parts = [manifest["kind"].lower(), group.partition(".")[0], version]
        return _told(_core_validator(release, "-".join(filter(None, parts))), manifest)

    return faults


# ── custom kinds ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def schemas() -> Schemas:
    pins = (*MODULES, MONITORING, GENERATOR)
    key = hashlib.sha256(repr(pins).encode()).hexdigest()[:16]
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_home / "gangform-tests" / f"crds-{key}"
    if not folder.is_dir():
        if shutil.which("go") is None:
            pytest.skip("Go is missing: the CRDs come out of Go modules")
        collect(folder)
    found: dict[tuple[str, str], Object] = {}
    for file in sorted(folder.glob("*.yaml")):
        spec = yaml.load(file.read_bytes(), Loader=LOADER)["spec"]
        for version in spec["versions"]:
            api_version = f"{spec['group']}/{version['name']}"
            found[api_version, spec["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return found


LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Some CRDs have ten thousand lines and more."""


def collect(folder: Path) -> None:
    """Gather the CRDs beside their final place, and move them there when all are there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch, "crds")
        made.mkdir()
        for module in MODULES:
            for file in (fetched(module, scratch) / module.folder).glob("*.yaml"):
                shutil.copyfile(file, made / file.name)
        program = f"{GENERATOR.path}/{GENERATOR.folder}@{GENERATOR.version}"
        _run("go", "install", program, folder=scratch, GOBIN=scratch)
        _run(
            str(Path(scratch, "controller-gen")),
            "crd",
            f"paths=./{MONITORING.folder}",
            f"output:crd:dir={made}",
            folder=fetched(MONITORING, scratch),
        )
        for file in made.iterdir():
            file.chmod(0o644)
        if not folder.is_dir():
            made.rename(folder)


def fetched(module: Module, scratch: str) -> Path:
    answer = _run(
        "go", "mod", "download", "-json", f"{module.path}@{module.version}", folder=scratch
    )
    return Path(json.loads(answer)["Dir"])


def _run(*command: str, folder: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout


def closed(schema: Object) -> Object:
    """A structural schema that refuses what the server would prune."""
    made = dict(schema)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            made[name] = closed(schema[name])
    if "properties" in schema:
        made["properties"] = {key: closed(value) for key, value in schema["properties"].items()}
    if schema.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    elif (
        schema.get("type") == "object"
        and not schema.get("x-kubernetes-preserve-unknown-fields")
        and "additionalProperties" not in schema
    ):
        made["additionalProperties"] = False
    if schema.get("nullable"):
        made = {"anyOf": [made, {"type": "null"}]}
    return made


@pytest.fixture(scope="session")
def custom_faults(schemas: Schemas) -> CustomFaults:
    @cache
    def validator(api_version: str, kind: str) -> Any:
        schema = closed(schemas[api_version, kind])
        # The server checks the metadata of every object by the one type for it.
        schema["properties"]["metadata"] = {}
        return KubernetesValidator(schema, format_checker=FORMATS)

    def faults(manifest: Object) -> list[str]:
        key = (manifest["apiVersion"], manifest["kind"])
        if key not in schemas:
            return [f"no CRD has {' '.join(key)}"]
        return [
            *_told(validator(*key), manifest),
            *_told(_core_validator("1.36", "objectmeta-meta-v1"), manifest["metadata"]),
        ]

    return faults
