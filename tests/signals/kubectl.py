"""Reads commands as a shell and kubectl would, as far as runbooks use them: anything else is a fault of the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gangform.apis import kueue, volcano
from gangform.apis.kinds import GROUPS

VARIABLES = {"$GROUP", "$NODE", "$POD", "$NAMESPACE", "$ACCOUNT"}
"""What only the moment knows."""

_WITH_VALUE = {"-n", "-l", "-L", "-o", "-c", "-f", "--as"}
_ALONE = {"-A", "--prefix", "--previous", "--server-side"}
_LONG = {"--tail", "--timeout", "--sort-by", "--field-selector", "--max-log-requests", "--raw"}
_FLAGS: Mapping[str, frozenset[str]] = {
    "get": frozenset(["-n", "-l", "-L", "-o", "-A", "--sort-by", "--field-selector", "--raw"]),
    "describe": frozenset(["-n", "-l"]),
    "logs": frozenset(["-n", "-l", "-c", "--tail", "--prefix", "--previous", "--max-log-requests"]),
    "delete": frozenset(["-n"]),
    "rollout": frozenset(["-n", "--timeout"]),
    "uncordon": frozenset(),
    "taint": frozenset(),
    "apply": frozenset(["-f", "--server-side"]),
    "auth": frozenset(["--as", "-A"]),
}
"""What each verb takes here; nothing that deletes without asking twice."""

_SHORT = {"pdb": "PodDisruptionBudget", "hpa": "HorizontalPodAutoscaler", "pod": "Pod"}
_OTHERS = {"event", "endpointslice"}
_QUALIFIED = {
    *(f"{name}.{kueue.GROUP}" for name in ("workloads", "clusterqueues", "localqueues")),
    *(f"{name}.{volcano.GROUP}" for name in ("podgroups", "queues")),
    f"hypernodes.{volcano.TOPOLOGY_GROUP}",
}


class Command(NamedTuple):
    """One call of kubectl."""

    verb: str
    flags: Mapping[str, str]
    words: tuple[str, ...]
    filters: tuple[tuple[str, ...], ...]
    """What its output is piped through."""


def commands(page: str) -> Iterator[str]:
    """Every command of a page: lines of its blocks, and `kubectl …` in its sentences."""
    for block in re.findall(r"^```\n(.*?)^```$", page, re.M | re.S):
        for line in block.splitlines():
            assert re.match(r"kubectl |(GROUP|NODE|POD|NAMESPACE|ACCOUNT)=[\w-]+  # ", line), line
            if line.startswith("kubectl"):
                yield line
    prose = re.sub(r"^```\n.*?^```$", "", page, flags=re.M | re.S)
    for line in re.findall(r"`(kubectl [^`]*)`", prose):
        if line not in ("kubectl describe", "kubectl describe pod"):
            yield line


def parse(line: str) -> Command:
    """The command of a line.

    Raises:
        AssertionError: It is none that runbooks may hold.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    parts: list[list[str]] = [[]]
    for token in lexer:
        assert token not in (";", "&&", "||", ">", "<", "&"), line
        if token == "|":
            parts.append([])
        else:
            parts[-1].append(token)
    first, *filters = parts
    assert first[0] == "kubectl" and len(first) > 1, line
    assert all(one and one[0] in ("grep", "tail") for one in filters), line
    verb, *rest = first[1:]
    assert verb in _FLAGS, line
    flags: dict[str, str] = {}
    words: list[str] = []
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or re.fullmatch(r"-?\d+", word):
            words.append(word)
            continue
        name, _, value = word.partition("=")
        if name in _WITH_VALUE or (name in _LONG and not value):
            value = value or rest.pop(0)
        assert name in _FLAGS[verb], f"{name} of {verb}: {line}"
        assert name in (_WITH_VALUE | _ALONE | _LONG), line
        assert value or name in _ALONE, line
        flags[name] = value
    for text in (*words, *flags.values()):
        assert set(re.findall(r"\$\w+", text)) <= VARIABLES, line
    command = Command(verb, flags, tuple(words), tuple(map(tuple, filters)))
    _check_words(command, line)
    return command


def _check_words(command: Command, line: str) -> None:
    verb, words = command.verb, command.words
    if verb in ("get", "describe", "delete"):
        if "--raw" in command.flags:
            assert not words, line
            return
        for resource in words[0].split(","):
            assert known(resource), f"no kind {resource}: {line}"
        assert len(words) > 1 or verb == "get" or "-l" in command.flags, line
        assert verb != "delete" or (words[0] == "pod" and len(words) == 2), line
    elif verb == "rollout":
        assert words[0] == "status" and known(words[1].partition("/")[0]), line
    elif verb == "logs":
        assert len(words) == ("-l" not in command.flags), line
        assert "--tail" in command.flags, line
    elif verb == "taint":
        assert words[0] in ("node", "nodes") and words[2].endswith(":NoExecute"), line
    elif verb == "apply":
        assert set(command.flags) == {"-f", "--server-side"} and not words, line
    elif verb == "auth":
        assert words[0] == "can-i", line


def known(resource: str) -> bool:
    """Whether an API server of this fleet has such objects: kind or plural, in small letters, or a short name."""
    if resource in _QUALIFIED or resource in _SHORT:
        return True
    plain = {kind.lower() for kind in GROUPS} | _OTHERS
    return resource in plain or any(resource == plural(name) for name in plain)


def plural(name: str) -> str:
    return name[:-1] + "ies" if name.endswith("y") else f"{name}s"
