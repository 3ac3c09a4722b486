"""From a fleet to bytes, cluster by cluster: what `gangform synth` writes and what the constructs must equal."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from gangform.bundle import Bundle, bundle, foundation, judge_bundles
from gangform.documents.document import Document, Key
from gangform.findings import Finding, InputError, InputPath, Path, ordered
from gangform.inputs.cluster import Cluster, Fleet, Library
from gangform.plan.cluster import NAMES_CLASH, ClusterPlan, plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving

SUFFIX = ".k8s.yaml"
"""What cdk8s ends the file of a chart with."""


class Rendered(NamedTuple):
    """One file of the output."""

    path: str
    """Below the output folder: `prod-a/r1.k8s.yaml`."""
    content: bytes
    bundle: Bundle


class Synthesis(NamedTuple):
    """Everything that a fleet becomes, in memory."""

    files: tuple[Rendered, ...]
    plans: tuple[ClusterPlan, ...]
    findings: tuple[Finding, ...]
    """Warnings and notes; errors have been raised."""


def plan_fleet(
    fleet: Fleet,
    library: Library,
    *,
    clusters: Sequence[Cluster] | None = None,
    search: bool = False,
) -> tuple[ClusterPlan, ...]:
    """The plans of the clusters, with their findings, errors among them.

    Args:
        fleet: What is planned.
        library: What its names refer to.
        clusters: Only these; all by default.
        search: Whether to look at other shapes also where the inputs say one.

    Raises:
        InputError: A name refers to nothing, or two servings of a cluster have one.
    """
    plans: list[ClusterPlan] = []
    unknown: list[Finding] = []
    for cluster in fleet.clusters if clusters is None else clusters:
        servings: list[ServingPlan] = []
        for serving in fleet.servings_of(cluster):
            try:
                made = plan_serving(
                    serving,
                    cluster=cluster,
                    library=library,
                    edition=fleet.defaults,
                    search=search,
                )
                servings.append(made)
            except InputError as error:
                unknown += error.findings
        unknown += _one_file_each(servings)
        plans.append(plan_cluster(cluster, servings, edition=fleet.defaults))
    if unknown:
        raise InputError(unknown)
    return tuple(plans)


def synthesise(
    fleet: Fleet,
    library: Library,
    *,
    clusters: Sequence[Cluster] | None = None,
    servings: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
    forks: bool = False,
) -> Synthesis:
    """Render and judge everything, before anything is written.

    Args:
        fleet: What to render.
        library: What its names refer to.
        clusters: Only these; all by default.
        servings: Only the charts of these are rendered; all, and the foundations, by default. All are judged.
        progress: Called with the path of each file, in this process.
        forks: Whether other processes may take part in rendering and judging many documents.

    Raises:
        InputError: With every error of the stage that failed: of all plans, else of all documents.
    """
    plans = plan_fleet(fleet, library, clusters=clusters)
    refuse([finding for plan in plans for finding in plan.every_finding])
    files: list[Rendered] = []
    judged: list[Finding] = []
    every = [one for plan in plans for one in plan.servings]
    made_of = _shared(every, servings) if forks and len(every) >= _WORTH_SHARING else {}
    for plan in plans:
        bundles, faults = bundles_of(plan, made_of)
        judged += faults
        if not faults:
            judged += judge_bundles(bundles, plan.cluster, forks=forks)
        for made in bundles:
            if not made.documents or (servings and made.name not in servings):
                continue
            path = f"{plan.cluster.name}/{made.name}{SUFFIX}"
            if progress is not None:
                progress(path)
            part = made_of.get(id(made.plan))
            content = part.content if part is not None else None
            content = made.to_yaml() if content is None else content
            files.append(Rendered(path=path, content=content, bundle=made))
    refuse(judged)
    said = [finding for plan in plans for finding in plan.every_finding]
    return Synthesis(
        files=tuple(sorted(files, key=lambda file: file.path)),
        plans=plans,
        findings=ordered([*said, *judged]),
    )


def _one_file_each(servings: Sequence[ServingPlan]) -> Iterator[Finding]:
    """Charts of one name would be one file; a fleet made in Python may have them."""
    names = Counter(plan.name for plan in servings)
    for name, count in names.items():
        if count > 1:
            yield Finding(
                code=NAMES_CLASH,
                at=InputPath(("servings", name, "name")),
                what=f"{count} servings of a cluster are called {name}, and their charts would be one file",
                fix="rename one of them",
            )


_WORTH_SHARING = 40
"""Servings. Fewer are rendered before another process has begun."""


class _Part(NamedTuple):
    """What a serving becomes, without its plan: that stays in the process that made it."""

    documents: tuple[Document, ...]
    patched: dict[Key, dict[Path, int]]
    content: bytes | None
    """`None` where it is not asked for, or where there is a value that cannot be written."""


def _shared(plans: Sequence[ServingPlan], servings: Sequence[str]) -> Mapping[int, _Part]:
    """The charts of many servings, by the identity of their plan; rules are imported meanwhile."""
    from gangform.processes import processors, share
    from gangform.rules.rule import load

    def part(plan: ServingPlan) -> _Part | None:
        try:
            made = bundle(plan)
        except InputError:
            return None  # Made again by who says what is wrong.
        content = None
        if not servings or made.name in servings:
            with suppress(InputError):  # raised when the file is wanted, once all is judged
                content = made.to_yaml()
        patched = {key: dict(paths) for key, paths in made.patched.items()}
        return _Part(made.documents, patched, content)

    found = share(part, plans, processors(), first=load)
    pairs = zip(plans, found, strict=True)
    return {id(plan): each for plan, each in pairs if each is not None}


def bundles_of(
    plan: ClusterPlan, made_of: Mapping[int, _Part] = MappingProxyType({})
) -> tuple[list[Bundle], list[Finding]]:
    """Every chart of a cluster, and what keeps one from being made: what breaks in its plan, or a patch.

    Args:
        plan: The cluster.
        made_of: Parts that are made already, by the identity of the serving's plan.
    """
    made: list[Bundle] = []
    faults: list[Finding] = []
    for serving in plan.servings:
        part = made_of.get(id(serving))
        if part is not None:
            made.append(Bundle(serving.name, serving, part.documents, part.patched))
            continue
        try:
            made.append(bundle(serving))
        except InputError as error:
            faults += error.findings
    made.append(foundation(plan))
    return made, faults


def refuse(findings: Sequence[Finding]) -> None:
    """Stop where something breaks.

    Raises:
        InputError: With every finding that breaks.
    """
    broken = [finding for finding in findings if finding.breaks]
    if broken:
        raise InputError(broken)
