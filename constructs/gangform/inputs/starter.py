"""The first `gangform.yaml` of a user: short, commented, and without findings.

Who calls it may bring the parallelism that the plan would choose. Where nothing can be searched, as for a model of four
numbers, the split is a place to begin: one pipeline stage a node, as many stages as hold the checkpoint with room for
cache and overheads. `gangform plan` says what it is worth.
"""

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from gangform.findings import Finding, InputError, InputPath, Severity, declare
from gangform.inputs.cluster import Library
from gangform.inputs.defaults import editions
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.library import shipped_library
from gangform.inputs.load import load_text
from gangform.inputs.model import ModelProfile
from gangform.inputs.parallelism import Parallelism
from gangform.inputs.references import unknown
from gangform.inputs.spans import LoadError
from gangform.inputs.spelling import label, scalar

MODEL_TOO_LARGE = declare(
    "model-too-large",
    "A model that no number of such nodes can hold",
    Severity.BREAKS,
    "design §4 Fit",
)

_USABLE = Fraction(9, 10)
"""Share of GPU memory that an engine uses by default (`engines §6`)."""
_HEADROOM = Fraction(6, 5)
"""Memory wanted for each byte of the checkpoint: a sixth of it is left for cache and activations."""
_CONTEXT = 32768
"""Longest context to begin with, in tokens: long enough for most, and the cache stays small."""
KUBERNETES, LWS = "1.36", "0.10"
"""Releases that a new cluster is taken to run, until somebody writes which."""
NEWEST_ENGINE = "0.33.0"
"""The newest release of the engine that its table knows; a test holds both together, since inputs know no engine."""


class Backend(NamedTuple):
    """What an admission backend wants to be written."""

    versions: Mapping[str, str]
    provider: str
    queue: str
    words: str


BACKENDS: Mapping[str, Backend] = {
    "kueue": Backend({"kueue": "0.19"}, "", "serving", "Kueue lets a group start whole"),
    "volcano": Backend({"volcano": "1.15"}, "volcano", "serving", "Volcano binds a group whole"),
    "volcano-podgroup": Backend(
        {"volcano": "1.15"}, "none", "serving", "one Volcano PodGroup a group"
    ),
    "none": Backend({}, "", "", "nothing waits as one"),
}
"""What a starter file says about the shipped backends."""
_PLAIN = Backend({}, "", "serving", "decides when a group starts")
"""The same of a backend that came later: its own checks say what else it wants."""


def starter(
    *,
    model: str,
    hardware: str,
    cluster: str = "prod",
    groups: int = 1,
    context: int | None = None,
    concurrency: int | None = None,
    admission: str = "kueue",
    namespace: str = "llm",
    name: str | None = None,
    engine_version: str | None = None,
    backends: Iterable[str] = (),
    library: Library | None = None,
    parallelism: Parallelism | None = None,
) -> str:
    """The text of a fleet file for one model on one kind of node.

    Args:
        model: A profile's name.
        hardware: A shape's name.
        cluster: What the cluster is called.
        groups: Copies of the model.
        context: The longest request, in tokens; what the model takes, but no more than 32768, by default.
        concurrency: Requests of that length that a group has to hold at once; not said by default.
        admission: A backend's name.
        namespace: Where it runs.
        name: What the serving is called; as the model by default.
        engine_version: The engine's release; a recent one by default.
        backends: Further backends that may be named.
        library: What the names refer to; the shipped profiles by default.
        parallelism: How a group is split; by `split` by default.

    Raises:
        InputError: A name that the library or the backends do not have, or a model that no such nodes can hold.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    library = library or shipped_library()
    known = dict.fromkeys([*BACKENDS, *backends])
    found = _unknown_names(model, hardware, admission, known, library)
    if found:
        raise InputError(found)
    profile, shape = library.models[model], library.hardware[hardware]
    environment = Environment(
        loader=PackageLoader("gangform.inputs"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["text"] = scalar
    environment.filters["quoted"] = json.dumps
    backend = BACKENDS.get(admission, _PLAIN)
    parallelism = parallelism or split(profile, shape)
    taken = parallelism.tensor * parallelism.pipeline * parallelism.data
    text = environment.get_template("gangform.yaml.j2").render(
        edition=editions()[-1],
        name=label(model) if name is None else name,
        model=model,
        checkpoint=profile.checkpoint.human(),
        hardware=hardware,
        gpus=shape.gpu.count,
        product=shape.gpu.product,
        pool=label(hardware),
        cluster=cluster,
        namespace=namespace,
        groups=groups,
        admission=admission,
        backend=backend,
        versions={"kubernetes": KUBERNETES, "lws": LWS, **backend.versions},
        engine=NEWEST_ENGINE if engine_version is None else engine_version,
        parallelism=parallelism.written,
        taken=taken,
        nodes=-(-taken // shape.gpu.count),
        context=min(_CONTEXT, profile.context_limit) if context is None else context,
        concurrency=concurrency,
    )
    text = _aligned(text)
    # Names that nobody may have are found as they are in any fleet file.
    load_text(text, shelves=library)
    return text


def split(profile: ModelProfile, shape: HardwareShape) -> Parallelism:
    """A parallelism that fits the shape: tensor inside the node, a pipeline stage a node.

    Raises:
        InputError: No number of stages holds the checkpoint.
    """
    tensor, expert_parallel = _tensor(profile, shape.gpu.count)
    node = tensor * shape.gpu.visible_memory * _USABLE
    stages = -(-(profile.checkpoint * _HEADROOM) // node)
    most = profile.architecture.layers if profile.architecture else stages
    if stages > most:
        raise InputError(
            [
                Finding(
                    code=MODEL_TOO_LARGE,
                    at=InputPath(("servings", 0, "parallelism")),
                    what=f"{profile.checkpoint.human()} need {stages} nodes of {shape.name}, and {profile.name} has "
                    f"{most} layers",
                    fix="name hardware with more memory",
                )
            ]
        )
    return Parallelism(tensor=tensor, pipeline=stages, expert_parallel=expert_parallel)


def _tensor(profile: ModelProfile, gpus: int) -> tuple[int, bool]:
    """The most GPUs of a node that the model's shapes divide by (`engines §1.2`), and whether experts stay whole."""
    shapes = profile.architecture
    if shapes is None:
        return gpus, False
    sizes = [shapes.attention.heads, shapes.vocabulary]
    block = profile.quantization_block or 1
    dense = shapes.dense_width
    for tensor in range(gpus, 0, -1):
        if (
            gpus % tensor
            or any(size % tensor for size in sizes)
            or (dense and dense % (tensor * block))
        ):
            continue
        experts = shapes.experts
        if experts is None or experts.width % (tensor * block) == 0:
            return tensor, False
        if experts.routed % tensor == 0:
            return tensor, True
    return 1, False


def _unknown_names(
    model: str, hardware: str, admission: str, backends: Mapping[str, None], library: Library
) -> list[Finding]:
    found = []
    for kind, name, known in (
        ("model", model, library.models),
        ("hardware", hardware, library.hardware),
        ("admission", admission, backends),
    ):
        if name not in known:
            named = f"{kind} is one of {', '.join(known)}"
            hint = named if known is backends else "`gangform profiles` lists all"
            found.append(unknown((kind,), f"there is no {kind} `{name}`", name, known, hint))
            continue
        try:
            known[name]
        except LoadError as error:
            found += error.findings
    return found


def _aligned(text: str) -> str:
    """Comments under each other."""
    lines = [line.partition("  # ") for line in text.splitlines()]
    width = max(len(code) for code, mark, _ in lines if mark)
    return "".join(
        f"{code.ljust(width) if mark else code}{mark}{words}\n" for code, mark, words in lines
    )
