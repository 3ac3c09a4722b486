"""Reads a foreign container: is it vLLM, does it serve HTTP, on which port, with how many GPUs and nodes.

Only what is certain is said. A shell script counts where it is one simple command; what a configuration file or a
variable decides is not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from gangform.documents.document import Manifest, sequence, text
from gangform.engines.engine import EngineReading
from gangform.engines.vllm_args import Given, given, last
from gangform.engines.vllm_flags import READY_TIMEOUT

_PORT = 8000
_ABSENT = frozenset({"/health/ready"})
"""Asked for in guides, and no route of any release (`engines §1.6`)."""
_IMAGE = re.compile(r"(^|/)vllm/vllm-openai(:|@|$)")
_MODULE = "vllm.entrypoints.openai.api_server"
_PROGRAM = "vllm"
_CLI = (_PROGRAM, "vllm.entrypoints.cli.main")
_PYTHON = re.compile(r"^python[0-9.]*$")
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_SIZES = (
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--data-parallel-size",
    "--prefill-context-parallel-size",
)


def read(container: Manifest) -> EngineReading | None:
    """What a container would do; `None`: not vLLM, or not certain."""
    command = _texts(container, "command")
    args = _texts(container, "args")
    if command is None or args is None:
        return None
    headless_counts = True
    rest: Sequence[str] | None
    if command:
        tokens = _unwrapped([*command, *args])
        started = _started(tokens) if tokens else None
        if started is None:
            return None
        rest, headless_counts = started
    elif _IMAGE.search(text(container, "image")):
        # The image's own entry differs by release, and with it whether a worker may be headless.
        rest = args
        if last(given(args), "--headless") is not None:
            return None
    else:
        return None
    reading = _reading(given(rest), headless_counts=headless_counts)
    limit = _start_limit(container)
    return reading if reading is None or limit is None else reading._replace(start_limit=limit)


def _start_limit(container: Manifest) -> tuple[str, int] | None:
    for variable in sequence(container, "env"):
        value = text(variable, "value")
        if (
            text(variable, "name") == READY_TIMEOUT
            and value.isdecimal()
            and value.isascii()
            and len(value) < 10
        ):
            return READY_TIMEOUT, int(value)
    return None


def _texts(container: Manifest, key: str) -> list[str] | None:
    items = sequence(container, key)
    found = [item for item in items if isinstance(item, str)]
    return found if len(found) == len(items) else None


def _unwrapped(tokens: list[str]) -> list[str] | None:
    """The command behind `sh -c`; `None` where the script is more than one simple command."""
    if PurePosixPath(tokens[0]).name not in _SHELLS:
        return tokens
    if len(tokens) < 3 or not re.match(r"^-[a-z]*c$", tokens[1]):
        return None
    script = tokens[2].replace("\\\n", " ").strip()
    if "\n" in script or "`" in script or re.search(r"\$[@*#0-9({]", _VARIABLE.sub("", script)):
        return None
    # $(NAME) is filled in by the kubelet before the shell sees it; it is no command substitution then.
    marked = _VARIABLE.sub("\ue000\\1\ue001", script)
    import shlex

    lexer = shlex.shlex(marked, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return None
    if any(re.match(r"^([();<>|&]+|#.*|!)$", word) for word in words):
        return None
    words = [word.replace("\ue000", "$(").replace("\ue001", ")") for word in words]
    while words and (words[0] == "exec" or re.match(r"^[A-Za-z_]\w*=", words[0])):
        words = words[1:]
    return words or None


def _started(tokens: list[str]) -> tuple[list[str], bool] | None:
    """Arguments of the server, and whether its entry knows `--headless` (`engines §0`, item 2)."""
    program = PurePosixPath(tokens[0]).name
    if program == _PROGRAM and tokens[1:2] == ["serve"]:
        return tokens[2:], True
    if _PYTHON.match(program) and "-m" in tokens:
        at = tokens.index("-m")
        if not all(re.match(r"^-[A-Za-z]+$", option) for option in tokens[1:at]):
            return None
        module = tokens[at + 1 : at + 2]
        if module == [_MODULE]:
            return tokens[at + 2 :], False
        if module and module[0] in _CLI and tokens[at + 2 : at + 3] == ["serve"]:
            return tokens[at + 3 :], True
    return None


def _reading(flags: list[Given], *, headless_counts: bool) -> EngineReading | None:
    if last(flags, "--config") or last(flags, "--uds"):
        return None
    port = _number(flags, "--port", _PORT)
    if port is None:
        return None
    gpus: int | None = 1
    for name in _SIZES:
        size = _number(flags, name, 1)
        gpus = None if gpus is None or size is None else gpus * size
    nodes, rank = (last(flags, name) for name in ("--nnodes", "--node-rank"))
    written = nodes.value if nodes and nodes.value != "1" else None
    return EngineReading(
        engine="vllm",
        serves_http=not (headless_counts and last(flags, "--headless")),
        port=port,
        gpus=gpus,
        nodes=written,
        rank=rank.value if rank else None,
        all_ranks=written is not None,
        absent_paths=_ABSENT,
    )


def _number(flags: list[Given], name: str, default: int) -> int | None:
    found = last(flags, name)
    if found is None:
        return default
    value = found.value or ""
    return int(value) if value.isdecimal() and value.isascii() else None
