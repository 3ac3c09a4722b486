"""`gangform diff`: what a change of the manifests costs, in groups and GPUs, before it is merged or applied."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gangform.cli.price import UNREAD, known
from gangform.cli.selection import Selection, fleet_file, select
from gangform.cli.table import Block, as_markdown, as_text, plain, structured
from gangform.cli.terminal import UsageError, say, tell
from gangform.diff.folders import Known, Priced, cluster_of, price_folders
from gangform.diff.history import History, HistoryError, on_disk
from gangform.diff.record import Price
from gangform.diff.words import record, said, sides, told, verdict, worth_saying
from gangform.findings import InputError, counted

if TYPE_CHECKING:
    from gangform.synth import Synthesis


def diff(arguments: Namespace) -> int:
    """Compare the committed manifests, the cluster, or another edition of the defaults with what is here."""
    asked = [one for one in ("revision", "live", "defaults") if getattr(arguments, one) is not None]
    if len(asked) > 1:
        raise UsageError("a revision, --live and --defaults are three questions: ask one of them")
    arguments.servings = []
    if arguments.live is not None:
        from gangform.cli.live import live

        return live(arguments)
    if arguments.defaults is not None:
        return _editions(arguments)
    return _committed(arguments)


def _committed(arguments: Namespace) -> int:
    """The working tree against a commit."""
    chosen = _fleet(arguments)
    folder = _folder(arguments, chosen is not None)
    try:
        history = History(folder.absolute())
        if arguments.revision is None:
            commit, branch = history.base()
            against = f"{commit[:12]}, where HEAD left {branch}"
        else:
            commit = history.commit(arguments.revision)
            against = (
                commit[:12]
                if commit.startswith(arguments.revision)
                else f"{arguments.revision} ({commit[:12]})"
            )
        before = history.files(commit, folder.absolute())
    except HistoryError as error:
        raise UsageError(str(error)) from None
    after = on_disk(folder)
    _known_clusters(arguments, {*before, *after}, chosen)
    if not before and not after:
        raise UsageError(
            f"{folder} holds no manifests, now or in {commit[:12]}; `--output-dir` names another folder"
        )
    found = list(
        price_folders(
            before,
            after,
            known=_facts(chosen),
        )
    )
    title = f"{folder} against {against}"
    report(arguments, found, title if before else f"{title}, which has no manifests there")
    return 0


def _known_clusters(arguments: Namespace, paths: set[str], chosen: Selection | None) -> None:
    """Who names a cluster means one that the manifests or the fleet have.

    Raises:
        UsageError: There is none of that name.
    """
    names = {cluster_of(path) for path in paths} - {""}
    if chosen is not None:
        names |= {cluster.name for cluster in chosen.loaded.fleet.clusters}
    for name in arguments.cluster or ():
        if name not in names:
            listed = f"there are {', '.join(sorted(names))}" if names else "there are no folders"
            raise UsageError(f"no cluster is called `{name}`; {listed}")


def _editions(arguments: Namespace) -> int:
    """The fleet under another edition of the defaults, against the fleet as it is."""
    from gangform.inputs.defaults import edition_fault, editions

    chosen = select(arguments)
    fleet, wanted = chosen.loaded.fleet, arguments.defaults
    if wanted not in editions():
        raise UsageError(edition_fault(wanted)[0])
    try:
        now = _made(chosen)
        then = _made(
            chosen._replace(
                loaded=chosen.loaded._replace(fleet=fleet.model_copy(update={"defaults": wanted}))
            )
        )
    except InputError as error:
        from gangform.cli.findings import refused

        return refused(error, chosen.loaded.spans)
    plans = {plan.cluster.name: plan for plan in then.plans}
    found = list(
        price_folders(
            {file.path: file.content for file in now.files},
            {file.path: file.content for file in then.files},
            known=lambda cluster: known(plans.get(cluster)),
        )
    )
    report(arguments, found, f"defaults {wanted} against defaults {fleet.defaults}")
    return 0


def _made(chosen: Selection) -> Synthesis:
    from gangform.synth import synthesise

    return synthesise(chosen.loaded.fleet, chosen.loaded.library, clusters=chosen.clusters)


def _fleet(arguments: Namespace) -> Selection | None:
    """The fleet, for its releases and cold starts; `None` where there is none or it has errors."""
    try:
        fleet_file(arguments)
    except UsageError:
        if arguments.file is not None:
            raise
        return None
    try:
        return select(arguments)
    except InputError as error:
        tell(
            f"the fleet file has {counted(len(error.findings), 'error')} (`gangform validate` shows them), so releases "
            "and durations are not known"
        )
        return None


def _facts(chosen: Selection | None) -> Callable[[str], Known]:
    """What the plan of a cluster knows; made for those that differ."""
    if chosen is None:
        return lambda _: Known()
    loaded = chosen.loaded

    def facts(cluster: str) -> Known:
        from gangform.synth import plan_fleet

        wanted = [one for one in loaded.fleet.clusters if one.name == cluster]
        try:
            return known(
                next(iter(plan_fleet(loaded.fleet, loaded.library, clusters=wanted)), None)
            )
        except InputError:
            return Known(wanted[0].versions.releases if wanted else None)

    return facts


def _folder(arguments: Namespace, fleet: bool) -> Path:
    asked: str | None = arguments.output_dir or os.environ.get("CDK8S_OUTDIR")
    if asked:
        return Path(asked)
    return (fleet_file(arguments).parent if fleet else Path()) / "dist"


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────


def report(arguments: Namespace, found: Sequence[Priced], title: str) -> None:
    """What changes, as a table, for machines, or as a comment on a pull request."""
    wanted = arguments.cluster or ()
    kept = [one for one in found if not wanted or one.cluster in wanted]
    if arguments.output == "json":
        clusters = [
            {
                "name": one.cluster,
                "changes": [record(price) for price in one.prices],
                **({"unread": list(one.unread)} if one.unread else {}),
            }
            for one in kept
        ]
        say(structured({"version": 1, "compared": title, "clusters": clusters}, "json"))
    elif arguments.output == "markdown":
        say(_comment(kept, title))
    else:
        say(as_text(_blocks(kept, title)))


def _blocks(found: Sequence[Priced], title: str) -> list[Block]:
    blocks = []
    for one in found:
        shown = worth_saying(one.prices)
        rows = [(str(price.key), said(price)) for price in shown]
        rows += [(path, UNREAD) for path in one.unread]
        if not rows:
            continue
        name = f"{one.cluster}: {title}" if one.cluster else title
        blocks.append(Block(title=name, columns=("object", "what the change does"), rows=rows))
        blocks += _orders(shown)
        if fields := _fields(shown):
            blocks.append(Block(title="fields", columns=_COLUMNS, rows=fields, level=2))
    return blocks or [Block(title=title, rows=(), empty=_quiet(found))]


_COLUMNS = ("object", "field", "before", "after", "effect")
_CODE = _COLUMNS[:4]


def _fields(prices: Sequence[Price]) -> list[tuple[str, ...]]:
    return [
        (
            str(one.key),
            one.path,
            *sides(one.consequence.change),
            told(one.consequence.effect),
        )
        for price in prices
        for one in price.fields
    ]


def _orders(prices: Sequence[Price]) -> list[Block]:
    """The steps of what is not safe at once."""
    return [
        Block(
            title=f"{price.key}, step by step",
            columns=("step", "what"),
            rows=[(f"{number}", step) for number, step in enumerate(price.order, 1)],
            level=2,
        )
        for price in prices
        if price.order
    ]


def _quiet(found: Sequence[Priced]) -> str:
    quiet = sum(len(one.prices) for one in found)
    return (
        f"nothing that runs is touched ({counted(quiet, 'other change')})"
        if quiet
        else "nothing changes"
    )


def _comment(found: Sequence[Priced], title: str) -> str:
    """A comment on a pull request: a line an object, the fields folded."""
    blocks = []
    for one in found:
        shown = worth_saying(one.prices)
        rows = [(f"{price.key}", verdict(price), said(price)) for price in shown]
        rows += [(path, "unknown", UNREAD) for path in one.unread]
        if not rows:
            continue
        columns = ("object", "price", "in words")
        name = one.cluster or "manifests"
        blocks.append(
            as_markdown([Block(title=name, columns=columns, rows=rows, code=("object",))])
        )
        blocks += [as_markdown([each]) for each in _orders(shown)]
        if fields := _fields(shown):
            table = Block(title="fields", columns=_COLUMNS, rows=fields, code=_CODE)
            table_only = as_markdown([table]).partition("\n\n")[2]
            blocks.append(
                f"<details><summary>{counted(len(fields), 'field')}</summary>\n\n{table_only.rstrip()}\n\n</details>\n"
            )
    head = f"**The price of this change** ({plain(title)})\n"
    return "\n".join([head, *(blocks or [f"{_quiet(found)}\n"])])
