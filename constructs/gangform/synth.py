"""From a fleet to bytes, cluster by cluster: what `gangform synth` writes and what the constructs must equal."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gangform.bundle import Bundle, bundle, foundation, judge_bundles
from gangform.findings import Finding, InputError, InputPath, ordered
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
        progress: Called with the path of each file before it is rendered.
        forks: Whether other processes may take part in judging many documents.

    Raises:
        InputError: With every error of the stage that failed: of all plans, else of all documents.
    """
    plans = plan_fleet(fleet, library, clusters=clusters)
    refuse([finding for plan in plans for finding in plan.every_finding])
    files: list[Rendered] = []
    judged: list[Finding] = []
    for plan in plans:
        bundles, faults = bundles_of(plan)
        judged += faults
        if not faults:
            judged += judge_bundles(bundles, plan.cluster, forks=forks)
        for made in bundles:
            if not made.documents or (servings and made.name not in servings):
                continue
            path = f"{plan.cluster.name}/{made.name}{SUFFIX}"
            if progress is not None:
                progress(path)
            files.append(Rendered(path=path, content=made.to_yaml(), bundle=made))
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


def bundles_of(plan: ClusterPlan) -> tuple[list[Bundle], list[Finding]]:
    """Every chart of a cluster, and what keeps one from being made: what breaks in its plan, or a patch."""
    made: list[Bundle] = []
    faults: list[Finding] = []
    for serving in plan.servings:
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
