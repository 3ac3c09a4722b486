"""Facts about a cluster that manifests cannot say, as `gangform lint` takes them: a file, and releases."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from gangform.apis.kinds import GROUPS, NO_NAMESPACE
from gangform.apis.versions import Release
from gangform.documents.read import Source
from gangform.inputs.base import Duration, LabelKey, Model, Natural
from gangform.inputs.nearest import nearest
from gangform.inputs.spans import LoadError, Spans
from gangform.inputs.texts import Version


def _reference(value: str) -> str:
    kind, *place = value.split("/")
    most = 1 if kind in NO_NAMESPACE else 2
    if kind not in GROUPS or not all(place) or not 1 <= len(place) <= most:
        raise PydanticCustomError(
            "object-reference",
            "`{value}` names no object as Kind/namespace/name, or Kind/name",
            {"value": value, "kind": kind, "places": most},
        )
    return value


ObjectReference = Annotated[str, AfterValidator(_reference)]
"""An object: `LocalQueue/llm/serving`; without a namespace it is meant in each, or lies in none."""


class Running(Model):
    """Releases that run."""

    kubernetes: Version | None = None
    lws: Version | None = None
    kueue: Version | None = None
    volcano: Version | None = None
    vllm: Version | None = None
    """For images whose tag says none."""
    sglang: Version | None = None
    """For images whose tag says none."""

    @property
    def releases(self) -> dict[str, Release]:
        """Those that were said, as numbers, by name."""
        return {
            name: Release.parse(text)
            for name, text in self.model_dump(by_alias=False).items()
            if text is not None
        }


class Given(Model):
    """What lies beside manifests and is known."""

    versions: Running = Field(default_factory=Running)
    """Releases of the cluster and of engines."""
    exists: tuple[ObjectReference, ...] = Field(default=(), strict=False)
    """Objects that are there: `Secret/llm/hub-token`."""
    complete: bool = False
    """Whether the manifests and `exists` are all there is: then what they name stands in them, or nowhere."""
    domains: dict[LabelKey, Natural] = Field(default_factory=dict)
    """How many values each node label has: a level's domains."""
    lws_scheduler_provider: Literal["none", "volcano"] | None = None
    """LWS's `gangSchedulingManagement.schedulerProvider`; `None`: unknown."""
    state_metrics: Literal["stock", "configured"] = "stock"
    """`configured`: the cluster's kube-state-metrics has the configuration that gangform writes beside manifests."""
    cold_start: dict[ObjectReference, Duration] = Field(default_factory=dict)
    """How long a workload takes from its pods to a ready leader: `LeaderWorkerSet/llm/r1: 21m`."""


def read_given(source: Source) -> Given:
    """The facts of a file.

    Raises:
        LoadError: With everything that is wrong in it.
    """
    spans = Spans(source)
    if source.findings:
        raise LoadError(source.findings, spans)
    try:
        return Given.model_validate(source.value, by_alias=True, by_name=False)
    except ValidationError as error:
        from gangform.inputs.translate import translate

        found = translate(error, Given, source.value, lambda path: path)
        raise LoadError(found, spans) from None


def read_versions(written: Mapping[str, str]) -> dict[str, Release]:
    """The releases of a command line, by name.

    Raises:
        ValueError: A name is unknown, or a text is no version; the message says all of them.
    """
    known = tuple(Running.model_fields)
    releases: dict[str, Release] = {}
    wrong: list[str] = []
    for name, version in written.items():
        if name not in known:
            near = nearest(name, known)
            fix = f"did you mean {near[0]}?" if near else f"the names are {', '.join(known)}"
            wrong.append(f"no release of `{name}` is of use; {fix}")
            continue
        try:
            releases[name] = Release.parse(version)
        except ValueError as error:
            wrong.append(f"{name}: {error}")
    if wrong:
        raise ValueError("\n".join(wrong))
    return releases
