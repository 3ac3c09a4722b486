"""`gangform init`, `profiles`, `schema` and `completion`: what surrounds a fleet."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gangform.cli.files import read_stream, write_text
from gangform.cli.findings import refused
from gangform.cli.selection import usage
from gangform.cli.table import Block, as_markdown, as_text, structured
from gangform.cli.terminal import UsageError, say
from gangform.findings import DocumentPath, EnvironmentFault, Finding, InputError, either

if TYPE_CHECKING:
    from gangform.cli.shelves import Shelf
    from gangform.inputs.cluster import Library
    from gangform.inputs.parallelism import Parallelism

# ── init ─────────────────────────────────────────────────────────────────────────────────────────

_READ = ("groups", "context", "concurrency", "admission", "namespace", "engine_version")
"""Options whose answer stands in manifests, where there are some."""
_LIVE = "kubectl get lws,deploy,svc,pdb,hpa -n NAMESPACE -o yaml"


def init(arguments: Namespace) -> int:
    """Write a first fleet file, never over one that is there."""
    target = Path(arguments.file)
    if target.is_dir():
        raise UsageError(f"{target} is a folder; move it away, or `-f FILE` writes another")
    if target.exists() and not arguments.force:
        raise UsageError(
            f"{target} exists and is left as it is; `--force` replaces it, `-f FILE` writes another"
        )
    if arguments.source is not None:
        for option in _READ:
            if getattr(arguments, option) is not None:
                raise UsageError(
                    f"`--{option.replace('_', '-')}` is read from the manifests; leave it out beside `--from`"
                )
        return _adopt(arguments, target)
    for option, folder in (("model", "models"), ("hardware", "hardware")):
        if getattr(arguments, option) is None:
            raise UsageError(f"`--{option} NAME` is missing; the {folder} are {_names(folder)}")
    try:
        text = _starter(arguments)
    except InputError as error:
        raise UsageError(usage(error)) from None
    if not target.parent.is_dir():
        raise EnvironmentFault(f"{target}: there is no folder {target.parent}; make it first")
    write_text(target, text, force=arguments.force)
    option = "" if target.name == "gangform.yaml" else f" -f {target}"
    say(
        f"wrote {target}\n"
        "next:\n"
        f"  gangform plan{option}    what it takes, and what has to be there first\n"
        f"  gangform synth{option}   write the manifests into dist/"
    )
    return 0


def _in_file(error: InputError, shown: str) -> Iterator[Finding]:
    """What is about no single object is about the file."""
    for one in error.findings:
        nowhere = isinstance(one.at, DocumentPath) and not one.at.kind
        yield one._replace(seen={**one.seen, "file": shown}) if nowhere else one


def _adopt(arguments: Namespace, target: Path) -> int:
    """Write a fleet file from a set of groups that runs, or that somebody wrote by hand."""
    from gangform.adopt.fleet import Wishes, adopt
    from gangform.documents.objects import read_objects
    from gangform.inputs.library import library, shipped_folder
    from gangform.inputs.load import load_cluster

    text, shown = read_stream(arguments.source, _LIVE)
    profiles = target.absolute().parent / "profiles"
    described = profiles / "clusters" / f"{arguments.cluster}.yaml"
    wishes = Wishes(
        cluster=arguments.cluster,
        described=load_cluster(described) if described.is_file() else None,
        model=arguments.model,
        hardware=arguments.hardware,
        name=arguments.name,
    )
    try:
        made = adopt(read_objects(text, shown), wishes, library((profiles, shipped_folder())))
    except InputError as error:
        return refused(InputError(_in_file(error, shown)), None, "nothing was written")
    write_text(target, made, force=arguments.force)
    option = "" if target.name == "gangform.yaml" else f" -f {target}"
    compare = f"gangform diff{option} --live {arguments.source}"
    if arguments.source == "-":
        compare = f"{_LIVE} | {compare}"
    check = f"gangform validate{option}".ljust(len(compare))
    say(
        f"wrote {target}; what was not read stands in it as comments\n"
        "next:\n"
        f"  {check}   what is still wrong\n"
        f"  {compare}   what a switch does to the groups that run"
    )
    return 0


def _names(folder: str) -> str:
    from gangform.inputs.library import shipped_library

    shelves = shipped_library()
    return ", ".join(shelves.models if folder == "models" else shelves.hardware)


def _starter(arguments: Namespace) -> str:
    """The text of the file.

    Raises:
        InputError: A name that is unknown, or that nothing may have.
    """
    from gangform.admission.admission import BACKENDS
    from gangform.inputs.library import shipped_library
    from gangform.inputs.starter import starter

    library = shipped_library()
    written = partial(
        starter,
        model=arguments.model,
        hardware=arguments.hardware,
        cluster=arguments.cluster,
        name=arguments.name,
        backends=BACKENDS,
        library=library,
        **{option: value for option in _READ if (value := getattr(arguments, option)) is not None},
    )
    text = written()
    chosen = _chosen(text, library)
    return text if chosen is None else written(parallelism=chosen)


def _chosen(text: str, library: Library) -> Parallelism | None:
    """What `auto` would be in a starter file; `None` where nothing is found, or nothing can be searched."""
    from gangform.inputs.load import load_text
    from gangform.plan.serving import plan_serving

    fleet = load_text(text, shelves=library).fleet
    (cluster,), (serving,) = fleet.clusters, fleet.servings
    opened = serving.model_copy(update={"parallelism": "auto"})
    plan = plan_serving(opened, cluster=cluster, library=library, edition=fleet.defaults)
    if plan.search is None or plan.search.chosen is None:
        return None
    return plan.search.chosen.parallelism


_READABLE = 6
"""Digits of a quantity up to which it is read as it is; a longer one is an amount of bytes."""

# ── profiles ─────────────────────────────────────────────────────────────────────────────────────


def profiles(arguments: Namespace) -> int:
    """List what servings and pools may name, or show one profile with its sources."""
    from gangform.cli.shelves import shelves

    if arguments.name == "import":
        from gangform.cli.checkpoint import import_profile

        return import_profile(arguments)
    only = {
        "PATH": arguments.path,
        "--repository": arguments.repository,
        "--name": arguments.called,
    }
    alone = [name for name, value in {**only, "--write": arguments.write or None}.items() if value]
    if alone:
        raise UsageError(f"{' and '.join(alone)}: only with `gangform profiles import PATH`")
    known = shelves(arguments.file)
    if arguments.name is not None:
        return _one(arguments, known)
    broken = 0
    blocks: list[Block] = []
    data: dict[str, Any] = {}
    for shelf in known:
        rows = []
        for name in shelf.names:
            try:
                profile = shelf.read(name)
            except InputError as error:
                broken = refused(error, None)
                continue
            rows.append((name, *shelf.figures(profile), shelf.origin(name)))
        columns = ("name", *shelf.columns, "from")
        blocks.append(Block(title=shelf.kind, columns=columns, rows=rows))
        data[shelf.kind] = [dict(zip(columns, row, strict=True)) for row in rows]
    _report(arguments.output, blocks, data)
    return broken


def _one(arguments: Namespace, known: tuple[Shelf, ...]) -> int:
    name: str = arguments.name
    homes = [shelf for shelf in known if name in shelf.names]
    if any(shelf.files[name].stat().st_size == 0 for shelf in homes):
        # `gangform profiles NAME -o yaml > FILE`: the shell has made FILE before this reads it.
        from gangform.cli.shelves import shipped_shelves

        homes = [shelf for shelf in shipped_shelves() if name in shelf.names] or homes
    if not homes:
        from gangform.inputs.nearest import nearest

        near = nearest(name, [each for shelf in known for each in shelf.names])
        hint = f"did you mean {either(near)}?" if near else "`gangform profiles` lists all"
        raise UsageError(f"there is no profile `{name}`; {hint}")
    blocks: list[Block] = []
    data: dict[str, Any] = {}
    files: list[str] = []
    for shelf in homes:
        try:
            profile = shelf.read(name)
        except InputError as error:
            return refused(error, None)
        fields = profile.model_dump(by_alias=True, exclude_none=True, exclude={"name"})
        written = dict(_flat(profile.model_dump(by_alias=True, exclude_unset=True)))
        sources = cast(dict[str, str], fields.pop("sources", {}))
        verified = cast("tuple[str, ...] | None", fields.pop("verified", None))
        rows = []
        for path, value in _flat(fields):
            source = _source(path, sources) or ("" if path in written else "default")
            if verified is not None and path not in verified and "not verified" not in source:
                source = f"not verified: {source}".rstrip(": ")
            rows.append((path, value, source))
        title = f"{shelf.kind.removesuffix('s')} {name} ({shelf.origin(name)})"
        blocks.append(Block(title=title, columns=("field", "value", "source"), rows=rows))
        doubted = [row[0] for row in rows if "not verified" in row[2]]
        blocks.append(
            Block(
                title="not verified",
                rows=[(", ".join(doubted),)] if doubted else (),
                level=2,
                empty="nothing is marked so",
            )
        )
        plain = profile.model_dump(mode="json", by_alias=True, exclude_none=True)
        data[shelf.kind] = {**plain, "notVerified": doubted}
        files.append(_as_file(shelf, name, doubted))
    if arguments.output == "yaml":
        say("---\n".join(files))
    else:
        _report(arguments.output, blocks, data)
    return 0


def _as_file(shelf: Shelf, name: str, doubted: list[str]) -> str:
    """The file of a profile as it is, to be put beside a fleet file; what is not verified stands in a comment."""
    head = f"# profiles/{shelf.kind}/{name}.yaml ({shelf.origin(name)})\n"
    if doubted:
        head += f"# not verified: {', '.join(doubted)}\n"
    return head + shelf.files[name].read_text(encoding="utf-8")


def _flat(node: Any, path: str = "") -> list[tuple[str, str]]:
    """Fields inside fields by their dotted path; a list is one value."""
    from gangform.units import Bytes

    if isinstance(node, dict) and node:
        return [
            row
            for key, value in node.items()
            for row in _flat(value, f"{path}.{key}" if path else key)
        ]
    if isinstance(node, bool):
        return [(path, "true" if node else "false")]
    if isinstance(node, str) and node.isdecimal() and len(node) > _READABLE:
        return [(path, f"{node} ({Bytes(int(node)).human()})")]
    if isinstance(node, (list, tuple)):
        return [(path, ", ".join(_entry(entry) for entry in node) or "none")]
    return [(path, str(node) if node != {} else "none")]


def _entry(node: Any) -> str:
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key}: {value}" for key, value in node.items()) + "}"
    return str(node)


def _source(path: str, sources: dict[str, str]) -> str:
    """Where a figure comes from: its own source, or that of what it is part of."""
    while path:
        if path in sources:
            return sources[path]
        path = path.rpartition(".")[0]
    return ""


def _report(form: str, blocks: list[Block], data: Any) -> None:
    if form in ("json", "yaml"):
        say(structured(data, form))
    else:
        say(as_markdown(blocks) if form == "markdown" else as_text(blocks))


# ── schema and completion ────────────────────────────────────────────────────────────────────────


def schema(arguments: Namespace) -> int:
    """Print the JSON Schema of a kind of file, or of what `plan` prints."""
    if arguments.kind == "plan":
        from gangform.cli.record_schema import plan_schema

        say(structured(plan_schema(), arguments.output))
        return 0
    from gangform.inputs.reference import json_schema

    say(structured(json_schema(arguments.kind), arguments.output))
    return 0


def completion(arguments: Namespace) -> int:
    """Print a completion script."""
    import shtab

    from gangform.cli.commands import parser

    say(shtab.complete(parser(), shell=arguments.shell))
    return 0
