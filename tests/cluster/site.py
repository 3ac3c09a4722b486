"""The place of one control plane: its folder, ports, certificates and processes. Parts are started on it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.cluster import certificates
from tests.cluster.api import Api, ApiError, Credentials, Object
from tests.cluster.kubectl import Kubectl
from tests.cluster.processes import Processes, free_port
from tests.cluster.sources import Sources

LOOPBACK = "127.0.0.1"


class StartError(Exception):
    """A part of the control plane did not come up; the text holds the end of its log."""


class Site:
    """What every part of a control plane is started with."""

    def __init__(self, folder: Path, sources: Sources) -> None:
        self.folder = folder
        self.sources = sources
        self.processes = Processes(folder)
        self.certificates = certificates.make(folder / "certificates")
        self._ports: dict[str, int] = {}
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(self.certificates.kubeconfig(self.url("api")))
        self.kubectl = Kubectl(
            program=sources.programs / "kubectl", kubeconfig=self.kubeconfig, home=folder
        )
        self.api = Api(
            Credentials(
                host=LOOPBACK,
                port=self.port("api"),
                authority=self.certificates.authority,
                certificate=self.certificates.admin,
                key=self.certificates.admin_key,
            )
        )

    # ── addresses ────────────────────────────────────────────────────────────────────────────────

    def port(self, name: str) -> int:
        """The port that goes by a name, given out when first asked for."""
        while name not in self._ports:
            port = free_port()
            if port not in self._ports.values():
                self._ports[name] = port
        return self._ports[name]

    def address(self, name: str) -> str:
        return f"{LOOPBACK}:{self.port(name)}"

    def url(self, name: str) -> str:
        return f"https://{self.address(name)}"

    # ── parts ────────────────────────────────────────────────────────────────────────────────────

    def start(self, name: str, *flags: str | Path, program: str | None = None) -> None:
        """Start a program of the cache, by default the one of this name."""
        self.processes.start(name, [self.sources.programs / (program or name), *flags])

    def write(self, name: str, content: str) -> Path:
        """A file in the folder, for a program to read."""
        file = self.folder / name
        file.write_text(content)
        return file

    def wait(self, what: str, condition: Callable[[], object], *, within: float = 60) -> None:
        """Ask until a condition holds; that the server does not answer yet is no fault.

        Raises:
            StartError: It did not hold in time, or a program has ended by itself.
        """
        deadline = time.monotonic() + within
        last: Exception | None = None
        while True:
            try:
                if condition():
                    return
            except (OSError, ApiError, LookupError) as error:
                last = error
            ended = self.processes.ended()
            if ended is not None or time.monotonic() > deadline:
                raise StartError(f"{what}: {ended or last or f'not within {within:g} s'}")
            time.sleep(0.05)

    def listens(self, name: str) -> bool:
        """Whether somebody listens on a port."""
        with suppress(OSError), socket.create_connection((LOOPBACK, self.port(name)), 1):
            return True
        return False

    def webhook(self, port: str, path: str) -> Object:
        """How the server reaches a webhook: by URL, since there is no network of pods."""
        return {"url": f"{self.url(port)}{path}", "caBundle": self.certificates.bundle}
