"""Reads a foreign container: is it vLLM, does it serve HTTP, on which port, with how many GPUs and nodes.

Only what is certain is said: what a configuration file, a condition or a variable decides is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gangform.apis.versions import Release
from gangform.documents.document import Manifest, sequence, text
from gangform.engines.engine import EngineReading, SideChannel
from gangform.engines.flags import Given, is_number, last, number, parsed, repeated, together, value
from gangform.engines.ray import awaited, chooses_ray, spans_pods
from gangform.engines.shell import Command, Start, settings, start
from gangform.engines.side_channel import side_channel
from gangform.engines.starting import engine_command, python_module, speaks_of
from gangform.engines.vllm_args import given, model_of, two_in_one
from gangform.engines.vllm_flags import (
    COUNTS_DEVICES,
    METRICS_OFF,
    READY_DEFAULT,
    READY_TIMEOUT,
    SHUTDOWN,
    SPANS_NODES,
)

_PORT: Final = 8000
_NOWHERE: Final = (
    "/health/ready /healthz /livez /health_generate /v1/health /v1/health/ready /v2/health/ready"
)
_ABSENT: Final = frozenset(_NOWHERE.split())
"""Asked for in guides, or another server's, and no route of any release (`engines §1.6`)."""
_SUPERVISOR: Final = frozenset({"/ready", "/readyz"})
"""Of the supervisor of several ports alone (`engines §1.6`)."""
_IMAGE: Final = re.compile(r"(^|/)vllm/vllm-openai(:|@|$)")
_MODULE: Final = "vllm.entrypoints.openai.api_server"
_PROGRAM: Final = "vllm"
_CLI: Final = (_PROGRAM, "vllm.entrypoints.cli.main")
_TOLD_ONCE: Final = (
    "--nnodes",
    "--node-rank",
    "--port",
    "--max-model-len",
    "--max-num-seqs",
    "--max-num-batched-tokens",
    "--gpu-memory-utilization",
)
"""Flags with one value, of which the last counts."""
_SIZES: Final = (
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--data-parallel-size",
    "--prefill-context-parallel-size",
)
_DATA, _DATA_LOCAL, _FIRST = (
    "--data-parallel-size",
    "--data-parallel-size-local",
    "--data-parallel-start-rank",
)
_ONE_RANK: Final = ("--data-parallel-rank", "--data-parallel-external-lb")
_TOGETHER: Final = dict.fromkeys((*_SIZES, "--nnodes"), "1") | {
    "--master-port": "29501",
    "--master-addr": "",
    "--node-rank": "",
}
"""With the flags that are each rank's own, so that a variable behind one is known for its value."""
_BY_POD: Final = (_DATA_LOCAL, _FIRST, *_ONE_RANK)
"""Flags of data ranks that each pod counts for itself (`engines §1.1, §1.3`)."""
_BESIDE: Final = frozenset({5557, 8998, 9256, 29501, 29550, *range(5600, 5632)})
"""Cache events and transfers, and where ranks meet (`engines §1.4`)."""
_SUPERVISED: Final = "--data-parallel-multi-port-external-lb"
_SUPERVISOR_FLAG, _SUPERVISOR_PORT = "--data-parallel-supervisor-port", 9256
_TRANSFER: Final = "--kv-transfer-config"
_JSON: Final = (_TRANSFER, "--speculative-config", "--eplb-config")
_SIDE_CHANNEL: Final = "VLLM_NIXL_SIDE_CHANNEL_HOST"
_CONNECTOR: Final = "NixlConnector"
_BETWEEN_TWO, _OWN_ADDRESS = "P2pNcclConnector", "http_ip"
"""A connector that tells its proxy where requests for this engine go."""


def read(container: Manifest) -> EngineReading | None:
    """What a container would do; `None`: not vLLM, or not certain."""
    if not speaks_of(container, _PROGRAM):
        return None
    begun = start(container)
    if begun is None:
        return None
    if begun.arguments is not None:
        # The image's own entry differs by release, and with it whether a worker may be headless.
        flags = given(begun.arguments)
        if not _IMAGE.search(text(container, "image")) or last(flags, "--headless") is not None:
            return None
        first = 1 if begun.arguments[:1] == ("serve",) else 0
        return _reading(container, begun, Command(begun.arguments), first, headless_counts=False)
    found = engine_command(begun, _arguments)
    if found is None:
        return None
    command, at = found
    # This entry does not know `--headless` (`engines §0`, item 2).
    heard = command.words[at - 1] != _MODULE
    return _reading(container, begun, command, at, headless_counts=heard)


def server_words(container: Manifest) -> tuple[str, ...] | None:
    """What the server is given, its model included; `None`: not vLLM, or not certain."""
    begun = start(container)
    if begun is None:
        return None
    if begun.arguments is not None:
        return begun.arguments if _IMAGE.search(text(container, "image")) else None
    found = engine_command(begun, _arguments)
    return None if found is None else found[0].words[found[1] :]


def _arguments(words: Sequence[str], program: str) -> int | None:
    """Where the arguments of the server begin; `None` for another program."""
    if program == _PROGRAM and words[1:2] == ("serve",):
        return 2
    module, at = python_module(words, program) or ("", 0)
    if module in _CLI and words[at : at + 1] == ("serve",):
        return at + 1
    return at if module == _MODULE else None


def _reading(
    container: Manifest, begun: Start, command: Command, first: int, *, headless_counts: bool
) -> EngineReading | None:
    words = command.words[first:]
    flags = given(words)
    port = number(flags, "--port", _PORT)
    if last(flags, "--config") or last(flags, "--uds") or port is None:
        return None
    sizes = [number(flags, name, 1) for name in _SIZES]
    model = model_of(words, flags)
    if two_in_one(words) or last(flags, "--omni") or not model:
        # The engine ends at an item of two words; with stages of several models it lays out GPUs by a file. Without a
        # model the words are not whole: a base that an overlay completes.
        sizes = [None] * len(sizes)
    nodes, rank = (last(flags, name) for name in ("--nnodes", "--node-rank"))
    written = nodes.value if nodes and nodes.value != "1" else None
    by_pod = any(last(flags, name) for name in _BY_POD) and written is None
    local, pods = _by_pod(flags, sizes) if by_pod else (None, None)
    if pods is not None or (by_pod and last(flags, _FIRST)):
        rank = last(flags, _FIRST) or last(flags, _ONE_RANK[0])
    supervised = last(flags, _SUPERVISED) is not None
    tensor = sizes[0]
    ray = written is None and spans_pods(container, begun)
    waited = awaited(begun) if ray else None
    if ray and sizes[2] != 1:
        # Where data ranks are under Ray depends on their backend.
        sizes = [None] * len(sizes)
    return EngineReading(
        engine="vllm",
        serves_http=not (headless_counts and last(flags, "--headless")),
        port=port,
        gpus=None if by_pod else _product(sizes),
        nodes=written or waited,
        rank=rank.value if rank else None,
        ray=ray,
        alone=not ray and written is None and not by_pod and not chooses_ray(words),
        all_ranks=written is not None or waited is not None,
        start_limit=_start_limit(container, command),
        start_default=_start_default(container, command),
        absent_paths=_ABSENT if supervised else _ABSENT | _SUPERVISOR,
        tensor=tensor,
        local=local,
        pods=pods,
        address=value(flags, "--master-addr") or value(flags, "--data-parallel-address"),
        host=value(flags, "--host"),
        model=model,
        cache=value(flags, "--download-dir"),
        side_channel=_side_channel(container, command, flags),
        metrics_off=(f"it runs with {METRICS_OFF}", f"remove {METRICS_OFF}")
        if last(flags, METRICS_OFF)
        else None,
        beside=_BESIDE,
        series="vllm:",
        drain=number(flags, SHUTDOWN, 0) or 0,
        repeated=repeated(flags, (*_SIZES, _DATA_LOCAL, *_TOLD_ONCE)),
        refused=(
            *_twice(begun),
            *_refused(flags, sizes, several=written is not None),
            *_ignored(flags, heard=headless_counts, several=written is not None),
        ),
        floor=_floor(written),
        together=together(words, flags, _TOGETHER) if model else {},
        variables=command.variables,
    )


def _by_pod(flags: list[Given], sizes: Sequence[int | None]) -> tuple[int | None, int | None]:
    """Ranks of this pod, and pods that all data ranks fill; `None` where a number is not written."""
    tensor, pipeline, data, prefill = sizes
    if last(flags, _DATA_LOCAL) is None:
        one = 1 if last(flags, _ONE_RANK[0]) else None
        return _product([tensor, pipeline, prefill, one]), None
    local = number(flags, _DATA_LOCAL, 1)
    here = _product([tensor, pipeline, prefill, local])
    return here, data // local if local and data and data % local == 0 else None


def _refused(
    flags: list[Given], sizes: Sequence[int | None], *, several: bool
) -> Iterator[tuple[str, str]]:
    """Combinations that the engine ends at (`engines §1.1, §1.2`)."""
    headless = last(flags, "--headless") is not None
    for backend in ("--distributed-executor-backend", "--data-parallel-backend"):
        if several and value(flags, backend) == "ray":
            yield f"{backend} ray is refused together with --nnodes", f"remove {backend}"
    servers = number(flags, "--api-server-count", 0)
    if headless and servers:
        yield f"--headless and --api-server-count {servers} exclude each other", "remove one"
    if headless and last(flags, "--data-parallel-hybrid-lb") is not None:
        yield "--headless and --data-parallel-hybrid-lb exclude each other", "remove --headless"
    if last(flags, _SUPERVISED) is not None:
        yield from _supervised(flags)
    nodes, rank = number(flags, "--nnodes", 1), number(flags, "--node-rank", 0)
    world = _product(sizes)
    if nodes and world and world % nodes:
        yield (
            f"{nodes} nodes do not divide {world} ranks",
            f"let the ranks be a multiple of {nodes}",
        )
    if nodes and rank is not None and rank >= nodes:
        yield (
            f"rank {rank} is beyond {nodes} nodes, which are 0 to {nodes - 1}",
            "write the pod's own",
        )
    for name in _JSON:
        text_ = value(flags, name)
        if text_ and not re.search(r"[$`]", text_) and parsed(text_) is None:
            yield (
                f"the value of {name} is no JSON: `{text_[:60]}`",
                "quote it for the shell, as one text",
            )


def _supervised(flags: list[Given]) -> Iterator[tuple[str, str]]:
    """What the supervisor of several servers, one a data rank on ports in a row, refuses (`engines §1.2`)."""
    local, data = number(flags, _DATA_LOCAL, 0), number(flags, _DATA, 0)
    if local == 1:
        yield f"{_SUPERVISED} is for two ranks a pod at least, not for {_DATA_LOCAL} 1", "remove it"
    if local and data and data % local:
        yield (
            f"{local} ranks a pod do not divide {data} data ranks",
            f"let {_DATA} be a multiple of {local}",
        )
    servers = number(flags, "--api-server-count", 1)
    if servers is not None and servers > 1:
        what = f"{_SUPERVISED} and --api-server-count {servers} exclude each other"
        yield what, "remove --api-server-count: each rank has its one server"
    port, own = number(flags, "--port", _PORT), number(flags, _SUPERVISOR_FLAG, _SUPERVISOR_PORT)
    if local and port is not None and own is not None and port <= own < port + local:
        yield (
            f"the supervisor's port {own} is one of the ranks' own, {port} to {port + local - 1}",
            f"write {_SUPERVISOR_FLAG} {port + local}",
        )


def _twice(begun: Start) -> Iterator[tuple[str, str]]:
    """The entry point of the published image is the server already, under either of its names."""
    if (begun.arguments or ())[:1] == ("serve",):
        yield (
            "the image starts the server by itself, and takes `serve` for an argument",
            "remove `serve`",
        )


def _ignored(flags: list[Given], *, heard: bool, several: bool) -> Iterator[tuple[str, str]]:
    """A headless worker by an entry that knows no such thing ends (`engines §0`, item 2)."""
    if several and not heard and last(flags, "--headless") is not None:
        yield (
            f"`python -m {_MODULE}` ignores --headless, and the follower ends",
            "start `vllm serve`",
        )


def _product(sizes: Sequence[int | None]) -> int | None:
    product = 1
    for size in sizes:
        if size is None:
            return None
        product *= size
    return product


def _floor(nodes: str | None) -> tuple[Release, str] | None:
    if nodes is None:
        return None
    return COUNTS_DEVICES, (
        f"--nnodes is there from {SPANS_NODES}, and counts the devices of several nodes rightly from "
        f"{COUNTS_DEVICES}"
    )


def _start_limit(container: Manifest, command: Command) -> tuple[str, int, int] | None:
    limit = settings(container, command).get(READY_TIMEOUT) or ""
    return (READY_TIMEOUT, int(limit), READY_DEFAULT) if is_number(limit) else None


def _start_default(container: Manifest, command: Command) -> tuple[str, int] | None:
    known = READY_TIMEOUT in settings(container, command)
    return None if known or sequence(container, "envFrom") else (READY_TIMEOUT, READY_DEFAULT)


def _side_channel(container: Manifest, command: Command, flags: list[Given]) -> SideChannel | None:
    """The address for caches, where a connector that uses it is configured (`engines §1.5, §3.1`)."""
    config = parsed(value(flags, _TRANSFER))
    if isinstance(config, Mapping) and config.get("kv_connector") == _BETWEEN_TWO:
        extra = config.get("kv_connector_extra_config")
        own = extra.get(_OWN_ADDRESS) if isinstance(extra, Mapping) else None
        return SideChannel(_OWN_ADDRESS, own, written=True) if isinstance(own, str) else None
    if not _names_connector(config):
        return None
    return side_channel(container, command, _SIDE_CHANNEL, "localhost")


def _names_connector(config: object) -> bool:
    """Whether a configuration, or one inside it, is that of the connector."""
    if isinstance(config, Mapping):
        if config.get("kv_connector") == _CONNECTOR:
            return True
        extra = config.get("kv_connector_extra_config")
        inner = extra.get("connectors") if isinstance(extra, Mapping) else None
        return isinstance(inner, list) and any(_names_connector(one) for one in inner)
    return False
