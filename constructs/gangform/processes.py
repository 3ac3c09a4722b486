"""Work shared out over processes: the same results in the same order, sooner where processors are free.

The others are forks of this process, made for one piece of work and gone after it. They have everything that this one
has, so that nothing is sent to them; what they find comes back through a pipe. Whoever is through with a piece takes
the next one. What does not come back is done here: the piece of a process that was killed or had no memory, one that
failed, one whose result cannot be sent. So nothing is lost, and an error is raised here, as if there were one process.

Not by `concurrent.futures`: it takes 0.07 s to import where all of lint takes 1.6 s, starts a thread here, after which
nothing may be forked again, and its processes wait for ever when this one is killed.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_MOST: Final = 4
"""Processes. What is done before and after the sharing takes longer than more of them would save."""
_TURNS: Final = 128
"""Pieces that work is cut into, at the most: a turn is one byte of a pipe."""


def processors() -> int:
    """How many processes are of use here; 1 where none can be forked.

    A fork of a process with threads may wait for ever for a lock that no thread of its own holds. On macOS libraries
    of the system start threads unasked.
    """
    if not hasattr(os, "fork") or sys.platform == "darwin" or _thread._count():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return min(_MOST, len(os.sched_getaffinity(0)))
    return min(_MOST, os.cpu_count() or 1)


def share(
    work: Callable[[T], R],
    items: Sequence[T],
    processes: int,
    first: Callable[[], object] = lambda: None,
) -> list[R]:
    """The result for each item, in their order.

    Args:
        work: Gives the result for an item. What else it changes is lost, or is not: it may run in another process, and
            a second time here where it failed there. The result has to be one that `pickle` takes.
        items: What to work on.
        processes: How many work on it, this one included. With 1, `work` is called here and nowhere else.
        first: What this process does before it takes part, while others have begun. Its changes are only seen here.

    Raises:
        Exception: What `work` raises for the first item that it fails for.
    """
    pieces = _cut(items)
    if processes < 2 or len(pieces) < 2:
        first()
        return [work(item) for item in items]
    turns, ahead = os.pipe()
    os.write(ahead, bytes(range(len(pieces))))
    os.close(ahead)

    def all_of(piece: Sequence[T]) -> list[R]:
        return [work(item) for item in piece]

    others: list[_Other] = []
    done: dict[int, list[R]] = {}
    try:
        for _ in range(min(processes, len(pieces)) - 1):
            other = _fork(all_of, pieces, turns, others)
            if other is None:
                break
            others.append(other)
        first()
        done |= _take_turns(all_of, pieces, turns)
        for other in others:
            done |= other.results()
    finally:
        os.close(turns)
        for other in others:
            other.end()
    return [
        result
        for number, piece in enumerate(pieces)
        for result in (done[number] if number in done else map(work, piece))
    ]


def _cut(items: Sequence[T]) -> list[Sequence[T]]:
    each = -(-len(items) // _TURNS) or 1
    return [items[start : start + each] for start in range(0, len(items), each)]


def _take_turns(work: Callable[[T], R], pieces: Sequence[T], turns: int) -> dict[int, R]:
    """The results of those pieces that were taken here and did not fail."""
    done: dict[int, R] = {}
    while turn := os.read(turns, 1):
        with suppress(Exception):
            done[turn[0]] = work(pieces[turn[0]])
    return done


class _Other(NamedTuple):
    """Another process, from here."""

    id: int
    answer: int
    """The end of the pipe that its results come out of."""

    def results(self) -> dict[int, Any]:
        """What it found; nothing where it ended before it had said all of it."""
        import pickle

        said = bytearray()
        while some := os.read(self.answer, 1 << 20):
            said += some
        try:
            return {number: pickle.loads(found) for number, found in pickle.loads(said).items()}
        except Exception:
            return {}

    def end(self) -> None:
        """Leave nothing behind, whatever it still does."""
        os.close(self.answer)
        with suppress(ProcessLookupError):
            os.kill(self.id, signal.SIGKILL)
        with suppress(ChildProcessError):  # nobody was asked to keep the dead
            os.waitpid(self.id, 0)


def _fork(
    work: Callable[[T], object], pieces: Sequence[T], turns: int, others: Sequence[_Other]
) -> _Other | None:
    """Another process that takes turns; `None` where the machine has no room for one."""
    answer, end = os.pipe()
    parent = os.getpid()
    # Until the other process has left what this one would do after an interrupt, it must not meet one.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        try:
            id = os.fork()
        except OSError:
            os.close(answer)
            os.close(end)
            return None
        if id == 0:
            _be_other(work, pieces, turns, end, parent, [answer, *(one.answer for one in others)])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.close(end)
    return _Other(id, answer)


def _be_other(
    work: Callable[[T], object],
    pieces: Sequence[T],
    turns: int,
    end: int,
    parent: int,
    unused: Sequence[int],
) -> None:
    """The whole life of another process. Never returns: what the first has still to write, it would write again."""
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as with nohup
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        import pickle

        for each in unused:
            os.close(each)

        def sent(piece: T) -> bytes:
            if os.getppid() != parent:
                os._exit(0)  # nobody waits any more
            return pickle.dumps(work(piece), pickle.HIGHEST_PROTOCOL)

        said = pickle.dumps(_take_turns(sent, pieces, turns), pickle.HIGHEST_PROTOCOL)
        with open(end, "wb", buffering=0) as pipe:
            rest = memoryview(said)
            while rest:
                rest = rest[pipe.write(rest) or 0 :]
    finally:
        os._exit(0)
