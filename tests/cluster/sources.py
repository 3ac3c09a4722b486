"""CRDs and lists of webhooks, out of the modules that the programs are built from.

CRDs of kinds without a controller here are there so that the server checks the schema of every object. How modules
are fetched, and how the operator's CRDs are generated, is told in tests/schemas.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from tests.cluster.api import Object
from tests.cluster.binaries import Say, Unavailable, build, cache, find_go, locked, missing
from tests.schemas import conftest as schemas

BESIDE = (
    schemas.Module("volcano.sh/volcano", "v1.14.1", "config/crd/jobflow/bases"),
    schemas.Module("github.com/kedacore/keda/v2", "v2.18.0", "config/crd/bases"),
    schemas.Module("github.com/argoproj/argo-cd/v3", "v3.2.0", "manifests/crds"),
)
"""What tests/schemas does not need: Volcano's controllers wait for JobFlows."""

WEBHOOKS = (
    schemas.Module("sigs.k8s.io/lws", "v0.9.0", "config/webhook"),
    schemas.Module("sigs.k8s.io/kueue", "v0.17.0", "config/components/webhook"),
)

MEMORY = 1536
"""MiB that a control plane may take, with what a test puts on it."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Sources:
    """Everything that a control plane is started from."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self._crds = folder / "crds"
        self._webhooks = folder / "webhooks"

    def crds(self, *suffixes: str) -> Iterator[Object]:
        """The CRDs whose group, or full name, is one of these."""
        for file in sorted(self._crds.iterdir()):
            crd: Object = json.loads(file.read_bytes())
            if {crd["metadata"]["name"], crd["spec"]["group"]} & set(suffixes):
                yield crd

    def webhooks(self, name: str) -> list[Object]:
        """The webhook configurations of a controller, as its project lists them."""
        listed: list[Object] = json.loads((self._webhooks / f"{name}.json").read_bytes())
        return [one for one in listed if one["kind"].endswith("WebhookConfiguration")]


def prepare(say: Say) -> Sources:
    """Build and fetch what is missing in the cache.

    Raises:
        Unavailable: This machine cannot.
    """
    _require()
    pins = (schemas.MODULES, schemas.MONITORING, schemas.GENERATOR, BESIDE, WEBHOOKS)
    folder = cache(pins)
    with locked(folder, say):
        if missing(folder) or not (folder / "webhooks").is_dir():
            go = find_go(say)
            build(folder, go, say)
            began = time.monotonic()
            say("fetching CRDs and lists of webhooks")
            with patch.dict(os.environ, PATH=f"{go.parent}{os.pathsep}{os.environ['PATH']}"):
                _gather(folder)
            say(f"fetched them in {time.monotonic() - began:.0f} s")
    return Sources(folder)


def _require() -> None:
    """What no build can make up for."""
    if not Path("/proc/self/stat").exists():
        raise Unavailable("control planes are started on Linux alone")
    if shutil.which("openssl") is None:
        raise Unavailable("openssl is missing: it makes the certificates")
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable:"))
    if free < MEMORY:
        raise Unavailable(f"{free} MiB of memory are free, and a control plane takes {MEMORY}")


def _gather(folder: Path) -> None:
    """The CRDs first; the webhooks, moved in place last, say that all is there.

    Kept as JSON: to parse CRDs of twenty thousand lines as YAML would take longer than to start everything else.
    """
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        files, made, hooks = (Path(scratch, name) for name in ("files", "crds", "webhooks"))
        made.mkdir()
        hooks.mkdir()
        try:
            schemas.collect(files)
            found = [*files.glob("*.yaml")]
            for module in BESIDE:
                found += (schemas.fetched(module, scratch) / module.folder).glob("*.yaml")
            for module in WEBHOOKS:
                file = schemas.fetched(module, scratch) / module.folder / "manifests.yaml"
                name = module.path.rpartition("/")[2]
                (hooks / f"{name}.json").write_text(json.dumps(_documents(file)))
        except AssertionError as error:
            raise Unavailable(f"a module cannot be fetched: {error}") from None
        for document in (document for file in found for document in _documents(file)):
            if document["kind"] == "CustomResourceDefinition":
                made.joinpath(f"{document['metadata']['name']}.json").write_text(
                    json.dumps(document)
                )
        shutil.rmtree(folder / "crds", ignore_errors=True)
        made.rename(folder / "crds")
        hooks.rename(folder / "webhooks")


def _documents(file: Path) -> list[Object]:
    return [one for one in yaml.load_all(file.read_bytes(), Loader=LOADER) if one]
