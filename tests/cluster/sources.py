"""CRDs and lists of webhooks, out of the modules that the programs are built from.

CRDs of kinds without a controller here are there so that the server checks the schema of every object. How modules
are fetched, and how the operator's CRDs are generated, is told in tests/schemas.
"""

from __future__ import annotations

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
            crd: Object = yaml.load(file.read_bytes(), Loader=LOADER)
            if {crd["metadata"]["name"], crd["spec"]["group"]} & set(suffixes):
                yield crd

    def webhooks(self, name: str) -> list[Object]:
        """The webhook configurations of a controller, as its project lists them."""
        content = (self._webhooks / f"{name}.yaml").read_bytes()
        found = [one for one in yaml.load_all(content, Loader=LOADER) if one]
        return [one for one in found if one["kind"].endswith("WebhookConfiguration")]


def prepare(say: Say) -> Sources:
    """Build and fetch what is missing in the cache.

    Raises:
        Unavailable: This machine cannot.
    """
    if not Path("/proc/self/stat").exists():
        raise Unavailable("control planes are started on Linux alone")
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


def _gather(folder: Path) -> None:
    """The CRDs first; the webhooks, moved in place last, say that all is there."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made, hooks = Path(scratch, "made"), Path(scratch, "webhooks")
        hooks.mkdir()
        try:
            schemas._collect(made)
            for module in BESIDE:
                for file in (schemas._module(module, scratch) / module.folder).glob("*.yaml"):
                    if b"\nkind: CustomResourceDefinition" in file.read_bytes():
                        shutil.copyfile(file, made / file.name)
            for module in WEBHOOKS:
                home = schemas._module(module, scratch) / module.folder
                name = module.path.rpartition("/")[2]
                shutil.copyfile(home / "manifests.yaml", hooks / f"{name}.yaml")
        except AssertionError as error:
            raise Unavailable(f"a module cannot be fetched: {error}") from None
        shutil.rmtree(folder / "crds", ignore_errors=True)
        made.rename(folder / "crds")
        hooks.rename(folder / "webhooks")
