"""Which ports pods open, and how far that is known: nobody has to declare what a process listens on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.documents.document import sequence, text, whole
from gangform.engines.shell import SHELLS, name_of
from gangform.rules.joins import Run, read_runs

_OPEN_NOTHING: Final = frozenset(
    {
        *("[", "apt", "apt-get", "cat", "cd", "chmod", "chown", "cp", "curl", "date", "df", "echo"),
        *("export", "find", "git", "grep", "hf", "hostname", "huggingface-cli", "ip", "ln", "ls"),
        *("mkdir", "mount", "mv", "nvidia-smi", "pip", "pip3", "printf", "rm", "sed", "set"),
        *("sleep", "sysctl", "tar", "test", "touch", "trap", "true", "ulimit", "umask", "uname"),
        *("uv", "wget", "which"),
    }
)
"""Programs that a script runs beside its engine, and that listen nowhere."""
_RAY: Final = ("multi-node-serving.sh", "ray", "ray_init.sh")
"""Programs that start Ray."""
_OF_RAY: Final = frozenset({6379, 8080, 8265, 10001, 44217, 44227, 52365})
"""What Ray's head opens: store, exporters, dashboard, clients and agents."""


class Opened(NamedTuple):
    """What some pods open, as far as their containers say."""

    names: frozenset[str]
    numbers: frozenset[int]
    """Declared, or opened by what was read to be asked."""
    served: frozenset[int]
    """Where an engine serves."""
    beside: frozenset[int]
    """Opened for something else."""
    certain: bool
    """Whether they open no other."""
    words: str
    """Command lines and variables: a number that stands there may be opened for another purpose."""

    def lacks(self, number: int) -> bool:
        """Whether surely nobody opens a port."""
        known = number in self.numbers or number in self.beside or str(number) in self.words
        return self.certain and not known


def opened_ports(documents: Documents, pods: Sequence[PodView]) -> Opened:
    """What is known of the ports of some pods."""
    names: set[str] = set()
    numbers: set[int] = set()
    served: set[int] = set()
    beside: set[int] = set()
    words: list[str] = []
    certain = bool(pods)
    for pod in pods:
        for run in read_runs(documents, pod):
            said = [*sequence(run.container, "command"), *sequence(run.container, "args")]
            said += [text(variable, "value") for variable in sequence(run.container, "env")]
            words += [word for word in said if isinstance(word, str)]
            for port in sequence(run.container, "ports"):
                names.add(text(port, "name"))
                number = whole(port, "containerPort")
                numbers.add(number or 0)
                certain = certain and number is not None
            if run.init and not text(run.container, "restartPolicy"):
                continue
            certain = certain and run.reading is not None and _alone(run)
            if run.reading is not None:
                beside |= run.reading.beside | (_OF_RAY if _starts_ray(run) else set())
                served |= {run.reading.port} if run.reading.serves_http else set()
    return Opened(
        names=frozenset(names - {""}),
        numbers=frozenset((numbers | served) - {0}),
        served=frozenset(served),
        beside=frozenset(beside),
        certain=certain,
        words=" ".join(words),
    )


def _alone(run: Run) -> bool:
    """Whether nothing but the engine of a container may listen."""
    begun = run.begun
    if begun is None:
        return False
    others = [each for each in _commands(run) if each not in (*_OPEN_NOTHING, *_RAY)]
    return begun.whole and len(others) <= 1


def _commands(run: Run) -> Iterator[str]:
    """The programs that a container runs, and the scripts that a shell among them reads."""
    begun = run.begun
    for each in (*begun.commands, *begun.doubtful) if begun is not None else ():
        script = each.words[1] if each.program in SHELLS and len(each.words) > 1 else ""
        yield name_of(script) or each.program


def _starts_ray(run: Run) -> bool:
    return any(each in _RAY for each in _commands(run))
