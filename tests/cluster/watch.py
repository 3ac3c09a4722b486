"""Everything that happens to some collections, event by event: what a plan promises is counted at each of them.

Events of one collection come in the server's order, none left out. Those of two collections come over two
connections: compare them by what they say, not by a few milliseconds.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from tests.cluster.api import Api, Object


class Place(NamedTuple):
    """What an object is called: its kind, its namespace (empty for a cluster's own) and its name."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change, and everything that was there after it."""

    at: float
    """Seconds since the watch began, by this machine's clock."""
    type: str
    """`ADDED`, `MODIFIED` or `DELETED`."""
    place: Place
    object: Object

    @property
    def terminating(self) -> bool:
        return "deletionTimestamp" in self.object["metadata"]


class NotSeen(AssertionError):
    """What was waited for did not come."""


class Watch:
    """The objects of the collections as they are now, and every event since the watch began."""

    def __init__(self) -> None:
        self.objects: dict[Place, Object] = {}
        """What exists now. Read it inside `until` conditions, or after the watch has ended."""
        self.listed: dict[Place, Object] = {}
        """What existed at first."""
        self.events: list[Event] = []
        """Every change since then, oldest first."""
        self.began = time.monotonic()
        self._changed = threading.Condition()
        self._fault: BaseException | None = None

    def of(self, kind: str, *, namespace: str | None = None) -> list[Object]:
        """The objects of a kind that exist now, by name."""
        with self._changed:
            return [
                self.objects[place]
                for place in sorted(self.objects)
                if place.kind == kind and namespace in (None, place.namespace)
            ]

    def until(self, condition: Callable[[Watch], object], *, within: float, what: str) -> float:
        """Wait until a condition holds, asked anew at every event; the seconds since the watch began.

        Raises:
            NotSeen: It did not hold in time.
        """
        deadline = time.monotonic() + within
        with self._changed:
            while not condition(self):
                if self._fault is not None:
                    raise self._fault
                left = deadline - time.monotonic()
                if left <= 0:
                    raise NotSeen(f"{what}: not within {within:g} s")
                self._changed.wait(min(left, 1))
        return time.monotonic() - self.began

    def replay(self) -> Iterator[tuple[Event, dict[Place, Object]]]:
        """Every event with everything that existed right after it, from the first listing on.

        The one dictionary is kept up to date between steps: copy what must last.
        """
        with self._changed:
            events = list(self.events)
        objects: dict[Place, Object] = dict(self.listed)
        for event in events:
            if event.type == "DELETED":
                objects.pop(event.place, None)
            else:
                objects[event.place] = event.object
            yield event, objects

    # ── filled by threads ────────────────────────────────────────────────────────────────────────

    def _begin(self, listed: Sequence[Object]) -> None:
        self.objects = {_place(each): each for each in listed}
        self.listed = dict(self.objects)

    def _add(self, type: str, thing: Object) -> None:
        with self._changed:
            place = _place(thing)
            if type == "DELETED":
                self.objects.pop(place, None)
            else:
                self.objects[place] = thing
            at = time.monotonic() - self.began
            self.events.append(Event(at=at, type=type, place=place, object=thing))
            self._changed.notify_all()

    def _fail(self, fault: BaseException) -> None:
        with self._changed:
            self._fault = fault
            self._changed.notify_all()


@contextmanager
def watching(api: Api, *paths: str) -> Iterator[Watch]:
    """Watch collections for as long as the block lasts.

    Usage: `with watching(api, "/api/v1/pods", api.path(LWS, "LeaderWorkerSet")) as seen: …`.
    """
    seen = Watch()
    listed: list[Object] = []
    versions: list[str] = []
    for path in paths:
        answer = api.get(path)
        kind = answer["kind"].removesuffix("List")
        versions.append(answer["metadata"]["resourceVersion"])
        listed += [
            {"apiVersion": answer["apiVersion"], "kind": kind, **each} for each in answer["items"]
        ]
    seen._begin(listed)
    streams = [
        _Stream(api, path, version, seen) for path, version in zip(paths, versions, strict=True)
    ]
    for stream in streams:
        stream.start()
    try:
        yield seen
    finally:
        for stream in streams:
            stream.stop()


class _Stream(threading.Thread):
    """Follows one collection. Reads block without a timeout: Python's HTTP cannot go on after one."""

    def __init__(self, api: Api, path: str, version: str, seen: Watch) -> None:
        super().__init__(name=f"watch {path}", daemon=True)
        self.api, self.path, self.version, self.seen = api, path, version, seen
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._follow()
        except Exception as fault:
            if not self._stopped.is_set():
                self.seen._fail(fault)

    def stop(self) -> None:
        self._stopped.set()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self.join(timeout=5)

    def _follow(self) -> None:
        """One connection, until the server ends it."""
        connection = self.api.connect()
        rest = b""
        try:
            connection.connect()
            self._socket = connection.sock
            connection.sock.settimeout(None)
            query = f"watch=1&resourceVersion={self.version}&timeoutSeconds=3000"
            connection.request("GET", f"{self.path}?{query}")
            response = connection.getresponse()
            if response.status != 200:
                raise RuntimeError(f"watch of {self.path}: {response.status} {response.read()!r}")
            while not self._stopped.is_set() and (part := response.read1(1 << 20)):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
        finally:
            connection.close()

    def _take(self, told: Object) -> None:
        if told["type"] == "ERROR":
            raise RuntimeError(f"watch of {self.path}: {told['object'].get('message')}")
        self.version = told["object"]["metadata"]["resourceVersion"]
        self.seen._add(told["type"], told["object"])


def _place(thing: Object) -> Place:
    metadata = thing["metadata"]
    return Place(thing["kind"], metadata.get("namespace", ""), metadata["name"])
