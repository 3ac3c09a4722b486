"""Programs that are started here, and ended here, whatever becomes of the tests.

Every process is remembered in a file with its number and its start time, so that a number that was given away again
is never hit. A keeper waits beside them for the end of this process, by Ctrl-C, crash or `kill -9`: the pipe between
them closes then, and it ends what is left and removes the folder. It is this same file, run as a program.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PATIENCE = 10
"""Seconds that a process has between the request to end and the order."""


class Processes:
    """The processes of one folder. The folder is removed with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records = folder / "processes"
        self._logs = folder / "logs"
        self._records.mkdir(parents=True)
        self._logs.mkdir()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._keeper = subprocess.Popen(
            [sys.executable, __file__, str(folder)], stdin=subprocess.PIPE, start_new_session=True
        )

    def start(self, name: str, command: list[str | Path]) -> None:
        """Start a program in the folder, in a session of its own: Ctrl-C in the terminal does not reach it."""
        with self._log(name).open("ab") as log:
            child = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._children[name] = child
        record = self._records / name
        partial = record.with_suffix(".partial")
        partial.write_text(f"{child.pid} {started(child.pid)}")
        partial.rename(record)

    def stop(self, name: str) -> None:
        """End a program that runs."""
        child = self._children.pop(name)
        child.terminate()
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        (self._records / name).unlink(missing_ok=True)

    def stop_all(self) -> None:
        """End all programs, the last first, and remove the folder."""
        for name in reversed(list(self._children)):
            self.stop(name)
        shutil.rmtree(self.folder)
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()

    def numbers(self) -> dict[str, int]:
        """The process numbers of what was started, the keeper's left out."""
        return {name: child.pid for name, child in self._children.items()}

    @property
    def keeper(self) -> int:
        return self._keeper.pid

    def ended(self) -> str | None:
        """A program that ended by itself, with the end of its log; `None` while all run."""
        for name, child in self._children.items():
            if (code := child.poll()) is not None:
                return f"{name} ended with {code}:\n{self.log(name)[-2000:]}"
        return None

    def log(self, name: str) -> str:
        """Everything that a program has printed."""
        return self._log(name).read_text(errors="replace")

    def memory(self) -> dict[str, int]:
        """Resident memory, in MiB."""
        page = os.sysconf("SC_PAGE_SIZE")
        return {
            name: int(Path(f"/proc/{number}/statm").read_text().split()[1]) * page >> 20
            for name, number in self.numbers().items()
        }

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"


def started(number: int) -> str | None:
    """When a process was started, in the kernel's ticks; `None` where it is gone, or dead and not yet collected."""
    with suppress(OSError):
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] == "Z" else fields[19]
    return None


def free_port() -> int:
    """A port on loopback that nobody has, below those that the kernel gives to connections of its own accord."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(min(10_000, first // 2), first)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def keep(folder: Path) -> None:
    """Wait until whoever started this process is gone, then end what it left and remove the folder."""
    sys.stdin.buffer.read()
    left: list[tuple[int, str]] = []
    for record in sorted((folder / "processes").glob("*"), key=os.path.getmtime, reverse=True):
        first, time_of_start = record.read_text().split()
        left.append((int(first), time_of_start))
    for order in (signal.SIGTERM, signal.SIGKILL):
        for number, time_of_start in left:
            if started(number) == time_of_start:
                with suppress(ProcessLookupError):
                    os.kill(number, order)
        deadline = time.monotonic() + PATIENCE
        while any(started(number) == at for number, at in left) and time.monotonic() < deadline:
            time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
