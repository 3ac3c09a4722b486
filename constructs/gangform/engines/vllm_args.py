"""Lists of arguments: how they are read, which flags are the plan's own, and what a user may not add.

A user's arguments come after ours, verbatim, and the last one wins: one that repeats a flag of the plan would change
what runs behind the back of every manifest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from gangform.engines import flags
from gangform.engines.engine import LaunchRequest
from gangform.engines.flags import Given, last
from gangform.engines.shell import REFERENCE
from gangform.engines.vllm_flags import SHUTDOWN
from gangform.engines.vllm_words import on, settings, whole
from gangform.findings import Code, Finding, InputPath, Severity, declare

REPEATED = declare(
    "engine-args-repeat-plan",
    "An argument repeats a flag that the plan writes; the last one wins, and manifests would disagree with it.",
    Severity.BREAKS,
    "design §4 Engine",
)
CONFLICT = declare(
    "engine-args-conflict",
    "An argument is refused by the engine in this shape, or takes away what Service and probes rely on.",
    Severity.BREAKS,
    "engines §1.1, §1.2",
)
JOINED = declare(
    "engine-args-joined",
    "A flag and its value in one item, with a space between, are one unknown flag.",
    Severity.BREAKS,
    "design §3, engine.args",
)
OWNED: Mapping[str, str | None] = {
    "--model": "model",
    "--served-model-name": "servedModelName",
    "--tensor-parallel-size": "parallelism.tensor",
    "--pipeline-parallel-size": "parallelism.pipeline",
    "--data-parallel-size": "parallelism.data",
    "--prefill-context-parallel-size": "parallelism.prefillContext",
    "--decode-context-parallel-size": "parallelism.decodeContext",
    "--enable-expert-parallel": "parallelism.expertParallel",
    "--max-model-len": "context",
    "--gpu-memory-utilization": "engine.utilization",
    "--port": None,
    "--nnodes": None,
    "--node-rank": None,
    "--master-addr": None,
    "--master-port": None,
    "--headless": None,
    "--data-parallel-size-local": None,
    "--data-parallel-address": None,
    "--data-parallel-rpc-port": None,
    "--data-parallel-start-rank": None,
    "--data-parallel-rank": None,
    "--data-parallel-hybrid-lb": None,
    "--data-parallel-external-lb": None,
    "--data-parallel-multi-port-external-lb": None,
    "--data-parallel-supervisor-port": None,
}
"""Flags that follow from inputs, with the input to change; `None` where none sets it alone: ranks, ports, endpoints."""

MEMORY = frozenset(
    {
        "--kv-cache-dtype",
        "--kv-cache-memory-bytes",
        "--block-size",
        "--dtype",
        "--quantization",
        "--speculative-config",
        "--enable-eplb",
        "--enable-lora",
        "--num-gpu-blocks-override",
    }
)
"""Flags that change what lies on a GPU (`engines §6.3`)."""

SHORT: Mapping[str, str] = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-n": "--nnodes",
    "-r": "--node-rank",
    "-dpl": "--data-parallel-size-local",
    "-dpa": "--data-parallel-address",
    "-dpp": "--data-parallel-rpc-port",
    "-dpr": "--data-parallel-start-rank",
    "-dpn": "--data-parallel-rank",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpe": "--data-parallel-external-lb",
    "-dpb": "--data-parallel-backend",
    "-asc": "--api-server-count",
    "-q": "--quantization",
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-O": "--optimization-level",
    "--spec-method": "--speculative-config.method",
    "--spec-model": "--speculative-config.model",
    "--spec-tokens": "--speculative-config.num_speculative_tokens",
}
"""Other spellings (`engines §1.1`; vLLM: EngineArgs.add_cli_args)."""

REFUSED: Mapping[str, str] = {
    "--uds": "the Service and the probes speak plain HTTP on the port",
    "--config": "a file of flags decides what the plan and the manifests cannot see",
    "--grpc": "the Service and the probes speak plain HTTP on the port",
}
"""Flags that no shape bears, and why."""

_EVERYWHERE = ("", "0.0.0.0", "::", "[::]")
"""Addresses of `--host` that take in the pod's own, which Service and probes ask."""
_ABBREVIATED = 7
"""From this length on, dashes included, the beginning of a flag is taken for the flag."""
_KNOWN = (
    *OWNED,
    *sorted(MEMORY),
    *REFUSED,
    "--host",
    "--distributed-executor-backend",
    "--data-parallel-backend",
    "--api-server-count",
    "--kv-transfer-config",
    "--download-dir",
    SHUTDOWN,
    "--max-num-seqs",
    "--max-num-batched-tokens",
    "--cpu-offload-gb",
    "--enforce-eager",
    "--compilation-config",
    "--optimization-level",
    "--performance-mode",
    "--max-cudagraph-capture-size",
    "--cudagraph-capture-sizes",
    "--max-loras",
    "--max-lora-rank",
    "--eplb-config",
    "--num-redundant-experts",
)

_JOINED = re.compile(r"^--?[A-Za-z][-\w.]*\s")


def given(args: Sequence[str]) -> list[Given]:
    """The flags of a list of arguments of vLLM, those written by their beginning in full."""
    return [_named(one) for one in flags.given(args, SHORT)]


def words(ask: LaunchRequest) -> list[str]:
    """The arguments that a user adds, with the variables that Kubernetes puts in where their values are written."""
    return [
        REFERENCE.sub(lambda found: ask.variables.get(found[1], found[0]), each)
        for each in ask.options.args
    ]


def own(ask: LaunchRequest) -> list[Given]:
    """The flags that a user adds."""
    return given(words(ask))


def positional(args: Sequence[str]) -> str:
    """The model that stands before all flags; empty where none does."""
    return args[0] if args and not args[0].startswith("-") else ""


def model_of(args: Sequence[str], own: Sequence[Given]) -> str:
    """The model that is loaded, as written; empty where nothing says it.

    Args:
        args: The arguments.
        own: The same as flags.
    """
    return positional(args) or flags.value(own, "--model")


def positive(name: str) -> str:
    """The flag that one like `--no-enable-eplb` takes back; any other as it is."""
    return _meant(f"--{name.removeprefix('--no-')}") if name.startswith("--no-") else name


def _named(one: Given) -> Given:
    """A flag by its long name. `-O0` holds its value, and `-O` was a configuration in earlier releases."""
    level = re.fullmatch("-O([0-9])", one.flag)
    if level:
        return one._replace(flag="--optimization-level", value=level[1])
    head, dot, key = one.flag.partition(".")
    if head == "--optimization-level" and (dot or (one.value or "").startswith("{")):
        return one._replace(flag=f"--compilation-config{dot}{key}")
    if one.flag.startswith("--no-"):
        meant = {flag for flag in _KNOWN if flag.startswith(f"--{one.flag.removeprefix('--no-')}")}
        return one._replace(flag=f"--no-{meant.pop()[2:]}") if len(meant) == 1 else one
    return one._replace(flag=f"{_meant(head)}{dot}{key}")


def _meant(name: str) -> str:
    """The flag that a beginning of it stands for: argparse, which vLLM reads by, takes any that is no flag itself.

    Where several begin so the engine refuses the argument; the first of them is as good an answer.
    """
    if name in _KNOWN or len(name) < _ABBREVIATED or not name.startswith("--"):
        return name
    return next((flag for flag in _KNOWN if flag.startswith(name)), name)


def two_in_one(args: Sequence[str]) -> list[int]:
    """Items that hold a flag and its value with a space between: the engine takes each for one unknown flag."""
    return [index for index, argument in enumerate(args) if _JOINED.match(argument)]


def redundant_experts(own: Sequence[Given]) -> int:
    """Redundant experts that arguments ask for, in any of the three spellings; 0 where none can be read.

    `--eplb-config '{"num_redundant_experts": 8}'`, `--eplb-config.num_redundant_experts=8`, and the older
    `--num-redundant-experts=8`.
    """
    older = last(own, "--num-redundant-experts")
    said = settings(own, "--eplb-config").get("num_redundant_experts")
    return whole((older.value or "") if older else "") or whole(str(said)) or 0


def found(
    ask: LaunchRequest, code: Code, field: str, what: str, fix: str, *more: int, **seen: object
) -> Finding:
    """A finding at a field of the serving, spelled as in YAML; `more` are list indexes, `seen` the values."""
    at = InputPath((*ask.at, *field.split("."), *more))
    return Finding(
        code=code, at=at, what=what, fix=fix, seen={key: str(value) for key, value in seen.items()}
    )


def check_arguments(ask: LaunchRequest) -> Iterator[Finding]:
    """What is wrong with the arguments that a user adds to ours."""
    args = ask.options.args
    own = given(args)
    for index in two_in_one(args):
        flag, _, value = args[index].partition(" ")
        fix = f"write {flag}={value.strip()}, or two items"
        yield found(ask, JOINED, "engine.args", f"`{args[index]}` is one item", fix, index)
    for one in own:
        name = one.flag
        if positive(name) in OWNED:
            field = OWNED[positive(name)]
            fix = (
                f"remove it and set {field}"
                if field
                else "remove it: it follows from parallelism and pool"
            )
            what = f"{name} is written by the plan"
            yield found(ask, REPEATED, "engine.args", what, fix, one.at)
        elif name == "--kv-cache-dtype" and sayable(ask, one.value):
            fix = (
                f"remove it and set engine.kvCacheType: {'auto' if one.value == 'auto' else 'fp8'}"
            )
            yield found(ask, REPEATED, "engine.args", f"{name} is written by the plan", fix, one.at)
        elif why := _refused(ask, one):
            yield found(ask, CONFLICT, "engine.args", f"{name}: {why}", "remove it", one.at)
    eplb = next((one for one in own if one.flag.startswith("--eplb-config")), None)
    if eplb and redundant_experts(own) and not on(own, "--enable-eplb"):
        what = f"{eplb.flag} asks for redundant experts, which the engine refuses without --enable-eplb"
        yield found(ask, CONFLICT, "engine.args", what, "add --enable-eplb", eplb.at)


def sayable(ask: LaunchRequest, value: str | None) -> bool:
    """Whether the cache's number format has an input of ours, or we write one already."""
    return ask.options.kv_cache_type != "auto" or value in ("auto", "fp8", "fp8_e4m3")


def _refused(ask: LaunchRequest, one: Given) -> str | None:
    """Why the engine, the Service or the probes do not bear this argument; `None` where they do."""
    name, value = one.flag, one.value
    if name.startswith("--ssl-"):
        return REFUSED["--uds"]
    if name in REFUSED:
        return REFUSED[name]
    if name == "--host" and value not in _EVERYWHERE and not (value or "").startswith("$("):
        return (
            f"the Service and the probes ask the pod's address, and it listens on `{value}` alone"
        )
    if ask.shape.size == 1:
        return None
    if name == "--distributed-executor-backend" and value != "mp":
        return f"`{value}` is refused together with --nnodes, which chooses mp by itself"
    if name == "--data-parallel-backend" and value != "mp":
        return f"`{value}` is refused together with --nnodes"
    if name == "--api-server-count":
        return "refused together with --headless, and arguments go to every pod"
    if name == "--enable-elastic-ep":
        return "refused in groups of several nodes"
    return None
