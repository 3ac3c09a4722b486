"""kubectl, for what only it does as users do: apply of whole files in order, diff, drain."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


class KubectlError(Exception):
    """kubectl failed; the text is what it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What a run printed."""

    code: int
    out: str
    err: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the server warned of."""
        lines = self.err.splitlines()
        return tuple(line for line in lines if line.startswith("Warning:"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """kubectl against one control plane, with a home of its own."""

    program: Path
    kubeconfig: Path
    home: Path

    def run(self, *arguments: str, stdin: bytes | None = None, timeout: float = 120) -> Printed:
        """One run, whatever it exits with."""
        done = subprocess.run(
            [self.program, "--kubeconfig", self.kubeconfig, *arguments],
            input=stdin,
            capture_output=True,
            timeout=timeout,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"},
        )
        return Printed(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    def __call__(
        self, *arguments: str, stdin: bytes | None = None, timeout: float = 120
    ) -> Printed:
        """One run that must succeed.

        Raises:
            KubectlError: It did not.
        """
        printed = self.run(*arguments, stdin=stdin, timeout=timeout)
        if printed.code:
            raise KubectlError(f"kubectl {' '.join(arguments)}\n{printed.err}{printed.out}")
        return printed

    def apply(self, *files: Path, dry_run: bool = False) -> Printed:
        """Server-side apply of files, objects in the order of the files, strictly validated."""
        named = [argument for file in files for argument in ("-f", str(file))]
        dry = ["--dry-run=server"] if dry_run else []
        return self("apply", "--server-side", "--validate=strict", *dry, *named)
