"""SGLang, read in foreign manifests: the same command on every pod, with a rank of its own (`engines §2`).

The port takes connections before the model is loaded. Ranks above 0 open it too and answer health checks alone. A
tensor size is that of the whole replica; with data-parallel attention the data ranks are among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from gangform.documents.document import Manifest
from gangform.engines.engine import EngineReading, SideChannel
from gangform.engines.flags import Given, given, is_number, last, number, repeated, together, value
from gangform.engines.shell import Command, start
from gangform.engines.side_channel import side_channel
from gangform.engines.starting import engine_command, python_module, speaks_of

_PORT: Final = 30000
_HOST: Final = "127.0.0.1"
"""SGLang's documentation, server arguments."""
_MODULE: Final = "sglang.launch_server"
_PROGRAM: Final = "sglang"
_ABSENT: Final = frozenset({"/health/ready", "/readyz", "/healthz", "/livez"})
_RANK_ZERO: Final = frozenset(
    {"/ready", "/v1/models", "/health_generate", "/server_info", "/model_info"}
)
"""Not served by the small server of the other ranks (`engines §2.2`)."""
_SPELLINGS: Final[Mapping[str, str]] = {
    "--tp": "--tensor-parallel-size",
    "--tp-size": "--tensor-parallel-size",
    "--pp": "--pipeline-parallel-size",
    "--pp-size": "--pipeline-parallel-size",
    "--dp": "--data-parallel-size",
    "--dp-size": "--data-parallel-size",
    "--nccl-init-addr": "--dist-init-addr",
    "--model": "--model-path",
}
_SIZES: Final = (
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--data-parallel-size",
)
_TOGETHER: Final = dict.fromkeys((*_SIZES, "--nnodes"), "1") | {
    "--node-rank": "",
    "--dist-init-addr": "",
}
"""With the flags that are each rank's own, so that a variable behind one is known for its value."""
_INSIDE_TENSOR: Final = ("--enable-dp-attention", "--attn-dp-size")
_MEETING: Final = 8
"""Ports from that of the meeting on that its processes may take."""
_BOOTSTRAP: Final = 8998
_SIDE_CHANNEL: Final = "SGLANG_NIXL_SIDE_CHANNEL_HOST"


class Sglang:
    """The engine `sglang`, as a reader."""

    name: ClassVar[str] = "sglang"

    def read(self, container: Manifest) -> EngineReading | None:
        """What a container would do; `None`: not SGLang, or not certain."""
        begun = start(container) if speaks_of(container, _PROGRAM) else None
        if begun is None or begun.arguments is not None:
            return None
        found = engine_command(begun, _arguments)
        return None if found is None else _reading(container, *found)


def _arguments(words: Sequence[str], program: str) -> int | None:
    """Where the arguments of the server begin; `None` for another program."""
    if program == _PROGRAM and words[1:2] == ("serve",):
        return 2
    module = python_module(words, program)
    return module[1] if module is not None and module[0] == _MODULE else None


def _reading(container: Manifest, command: Command, first: int) -> EngineReading | None:
    flags = given(command.words[first:], _SPELLINGS)
    port = number(flags, "--port", _PORT)
    if last(flags, "--config") or port is None:
        return None
    tensor = number(flags, "--tensor-parallel-size", 1)
    nodes, rank = last(flags, "--nnodes"), last(flags, "--node-rank")
    written = nodes.value if nodes and nodes.value != "1" else None
    exports = last(flags, "--enable-metrics") is not None
    return EngineReading(
        engine="sglang",
        serves_http=True,
        port=port,
        gpus=_gpus(flags, several=written is not None),
        nodes=written,
        rank=rank.value if rank else None,
        alone=written is None,
        all_ranks=written is not None,
        absent_paths=_ABSENT,
        opens_early=True,
        rank_zero_answers=written is not None,
        rank_zero_paths=_RANK_ZERO,
        tensor=tensor,
        address=value(flags, "--dist-init-addr"),
        host=value(flags, "--host") or _HOST,
        model=value(flags, "--model-path"),
        cache=value(flags, "--download-dir"),
        side_channel=_side_channel(container, command, flags),
        beside=frozenset(_beside(flags)),
        metrics_off=None
        if exports
        else ("it runs without --enable-metrics", "add --enable-metrics"),
        metrics_served=exports,
        series="sglang:",
        generating_paths=frozenset({"/health", "/health_generate"}),
        repeated=repeated(flags, (*_SIZES, "--nnodes", "--node-rank", "--port")),
        refused=tuple(_refused(flags, port)),
        together=together(command.words[first:], flags, _TOGETHER),
        variables=command.variables,
    )


def _gpus(flags: list[Given], *, several: bool) -> int | None:
    sizes = [number(flags, f"--{name}-parallel-size", 1) for name in ("tensor", "pipeline", "data")]
    tensor, pipeline, data = sizes
    if tensor is None or pipeline is None or data is None:
        return None
    if any(last(flags, name) for name in _INSIDE_TENSOR):
        return tensor * pipeline
    # Whole copies beside each other: on one node only.
    return None if several and data > 1 else tensor * pipeline * data


def _refused(flags: list[Given], port: int) -> Iterator[tuple[str, str]]:
    """What rank 0 cannot open twice."""
    if value(flags, "--dist-init-addr").rpartition(":")[2] == str(port):
        yield (
            f"--port and --dist-init-addr are both {port}: one process opens it first",
            "use another port for --dist-init-addr, such as 20000",
        )


def _beside(flags: list[Given]) -> Iterator[int]:
    """Where ranks meet, with the ports that follow, and where caches are handed over (`engines §2.1`)."""
    meeting = value(flags, "--dist-init-addr").rpartition(":")[2]
    if is_number(meeting):
        yield from range(int(meeting), int(meeting) + _MEETING)
    if last(flags, "--disaggregation-mode"):
        yield number(flags, "--disaggregation-bootstrap-port", _BOOTSTRAP) or _BOOTSTRAP


def _side_channel(container: Manifest, command: Command, flags: list[Given]) -> SideChannel | None:
    split = value(flags, "--disaggregation-mode") in ("prefill", "decode")
    if not split or value(flags, "--disaggregation-transfer-backend") != "nixl":
        return None
    return side_channel(container, command, _SIDE_CHANNEL, None)
