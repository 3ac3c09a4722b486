"""`gangform diff --live`: whether what would be applied takes over what runs without a restart."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gangform.cli.files import read_stream
from gangform.cli.findings import refused, show
from gangform.cli.price import known
from gangform.cli.selection import Selection, select
from gangform.cli.table import Block, as_markdown, as_text, plain, structured
from gangform.cli.terminal import UsageError, say
from gangform.diff.folders import document_of
from gangform.diff.live import Adoption, adopt
from gangform.diff.stuck import stuck
from gangform.diff.words import record, said, sides, worth_saying
from gangform.documents.document import Document, Key
from gangform.documents.objects import read_objects
from gangform.findings import InputError, either

if TYPE_CHECKING:
    from gangform.bundle import Bundle
    from gangform.findings import Finding
    from gangform.inputs.cluster import Cluster
    from gangform.synth import Synthesis

_COMMAND = "kubectl get lws,deploy,svc,pdb -n NAMESPACE -o yaml"
ADOPTED = "adopted without a restart"
REMOVED = (
    "fields that only the living object has count as removed: `kubectl apply` removes what it wrote before, with "
    "`--server-side` only what it owns"
)


def live(arguments: Namespace) -> int:
    """Compare what runs with what `synth` would write."""
    from gangform.synth import synthesise

    spans = None
    try:
        running = _running(arguments.live)
        chosen = select(arguments)
        spans = chosen.loaded.spans
        made = synthesise(chosen.loaded.fleet, chosen.loaded.library, clusters=chosen.clusters)
    except InputError as error:
        return refused(error, spans)
    cluster = _cluster(chosen, made, running)
    bundles = [file.bundle for file in made.files if file.path.startswith(f"{cluster}/")]
    plan = next(plan for plan in made.plans if plan.cluster.name == cluster)
    found = adopt(bundles, running, known(plan))
    ours = [document for made_ in bundles for document in made_.documents]
    waits = list(stuck(running, ours, found.prices, known(plan).versions))
    where = "stdin" if arguments.live == "-" else arguments.live
    refusals = _refusals(chosen, plan.cluster, found)
    _report(arguments.output, found, refusals, f"{where} against what synth writes for {cluster}")
    show([*waits, *_beside(made, bundles, plan.cluster, found.strange)], spans)
    return 0


def _refusals(
    chosen: Selection, cluster: Cluster, found: Adoption
) -> Mapping[str, tuple[Finding, ...]]:
    """What `synth` says against the proposed patches, by serving: tried, since what runs may break a rule."""
    from gangform.inputs.serving import Patch
    from gangform.synth import synthesise

    fleet = chosen.loaded.fleet
    refused: dict[str, tuple[Finding, ...]] = {}
    for name, entries in _entries(found).items():
        more = [Patch.model_validate(one, by_alias=True, by_name=False) for one in entries]
        servings = tuple(
            one.model_copy(update={"patches": (*one.patches, *more)}) if one.name == name else one
            for one in fleet.servings
        )
        try:
            tried = fleet.model_copy(update={"servings": servings})
            synthesise(tried, chosen.loaded.library, clusters=[cluster])
        except InputError as error:
            refused[name] = error.findings
    return refused


def _beside(
    made: Synthesis, bundles: Sequence[Bundle], cluster: Cluster, strange: Sequence[Document]
) -> list[Finding]:
    """What is wrong only because of objects that run beside ours, such as a second budget over the same pods."""
    from gangform.bundle import judge_bundles

    alone = {one.sort_key() for one in made.findings}
    found = judge_bundles(bundles, cluster, complete=False, beside=strange) if strange else ()
    return [one for one in found if one.sort_key() not in alone]


def _running(place: str) -> list[Document]:
    """The objects of a file or of stdin.

    Raises:
        UsageError: There is none.
        InputError: Some of it cannot be read.
    """
    text, shown = read_stream(place, _COMMAND)
    found = [document_of(one) for one in read_objects(text, shown)]
    named = [one for one in found if one.kind and one.key.name]
    if not named:
        raise UsageError(f"{shown} holds no object; wanted is what `{_COMMAND}` prints")
    return named


def _cluster(chosen: Selection, made: Synthesis, running: Sequence[Document]) -> str:
    """The cluster that is meant: the only one, or the only one of whose objects some run.

    Raises:
        UsageError: It is not certain.
    """
    names = [cluster.name for cluster in chosen.clusters]
    if len(names) == 1:
        return names[0]
    keys = {document.key for document in running}
    alike = [
        name
        for name in names
        if any(
            document.key in keys
            for file in made.files
            if file.path.startswith(f"{name}/")
            for document in file.bundle.documents
        )
    ]
    if len(alike) != 1:
        raise UsageError(f"say which cluster it is of: --cluster {either(alike or names)}")
    return alike[0]


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────


def _report(
    form: str, found: Adoption, refusals: Mapping[str, tuple[Finding, ...]], title: str
) -> None:
    if form == "json":
        say(structured(_record(found, refusals, title), "json"))
        return
    shown = worth_saying(found.prices)
    priced = {price.key for price in shown}
    rows = [(str(key), ADOPTED) for key in found.adopted if key not in priced]
    rows += [
        (
            str(price.key),
            f"{ADOPTED}; {said(price)}" if price.key in found.adopted else said(price),
        )
        for price in shown
    ]
    columns: tuple[str, ...] = ("object", "when it is applied")
    blocks = [Block(title=title, columns=columns, rows=rows, code=columns[:1])]
    if ways := _ways(found):
        columns = ("object", "field", "runs", "would be", "effect", "to keep it")
        blocks.append(Block(title="fields", columns=columns, rows=ways, level=2, code=columns[:4]))
        blocks.append(Block(title="note", rows=[(REMOVED,)], level=2))
    if found.hints:
        blocks.append(Block(title="names", rows=[(hint,) for hint in found.hints], level=2))
    say(as_markdown(blocks) if form == "markdown" else as_text(blocks))
    for serving, text in _patches(found):
        head = f"to keep the rest, in serving {serving}:"
        say(f"\n{head}\n\n```yaml\n{text}```" if form == "markdown" else f"\n{head}\n\n{text}")
        for one in refusals.get(serving, ()):
            said_ = f"but synth refuses it: {one.code.id}: {one.what}; {one.fix}"
            say(f"\n{plain(said_) if form == 'markdown' else said_}")


def _ways(found: Adoption) -> list[tuple[str, ...]]:
    return [
        (
            str(key),
            way.field.path,
            *sides(way.field.consequence.change),
            way.field.consequence.effect.outcome.value,
            f"input: {way.input}" if way.input else "the patch below" if way.patched else "nothing",
        )
        for key, kept in found.kept.items()
        for way in kept.ways
    ]


def _entries(found: Adoption) -> dict[str, list[Any]]:
    """The entries of `patches` to paste, by serving."""
    by_serving: dict[str, list[Any]] = {}
    for key, kept in found.kept.items():
        if kept.patch is not None:
            by_serving.setdefault(found.servings[key], []).append(kept.patch)
    return by_serving


def _patches(found: Adoption) -> list[tuple[str, str]]:
    return [
        (serving, structured({"patches": entries}, "yaml"))
        for serving, entries in _entries(found).items()
    ]


def _record(
    found: Adoption, refusals: Mapping[str, tuple[Finding, ...]], title: str
) -> dict[str, Any]:
    return {
        "version": 1,
        "compared": title,
        "adopted": [str(key) for key in found.adopted],
        "changes": [record(price) for price in found.prices],
        "keep": [_kept(key, found) for key in found.kept],
        "refused": [
            {"serving": serving, "code": one.code.id, "what": one.what, "fix": one.fix}
            for serving, findings in refusals.items()
            for one in findings
        ],
        "hints": list(found.hints),
    }


def _kept(key: Key, found: Adoption) -> dict[str, Any]:
    kept = found.kept[key]
    known_ = {
        "object": str(key),
        "serving": found.servings[key],
        "inputs": [{"field": way.field.path, "input": way.input} for way in kept.ways if way.input],
        "patch": kept.patch,
        "lost": [way.field.path for way in kept.ways if not way.input and not way.patched],
    }
    return {name: one for name, one in known_.items() if one not in (None, [])}
