"""What the API server would refuse of any object: its head, and labels and annotations, also of pod templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gangform.apis.keys import LABEL_VALUE_LIMIT, NAME_LIMIT, SYNC_OPTIONS
from gangform.apis.kinds import GROUPS
from gangform.apis.metadata import is_dns_label, is_dns_subdomain, label_refusals, refusals
from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, dig, mapping, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import SETS, groups_of, owned, templates
from gangform.rules.rule import EVERY_KIND, WORKLOADS, Context, Fault, rule

MALFORMED = declare(
    "object-malformed",
    "The API server cannot read the object: its kind, name or spec is missing or no text or map",
    Severity.BREAKS,
    "apimachinery: TypeMeta, ObjectMeta",
)
REFUSED = declare(
    "metadata-refused",
    "The API server refuses a key or value among labels and annotations",
    Severity.BREAKS,
    "apimachinery: validation of ObjectMeta",
)
NAME = declare(
    "name-refused",
    "The API server refuses the name of an object: other signs than those of host names, or too many",
    Severity.BREAKS,
    "apimachinery: NameIsDNSSubdomain, NameIsDNSLabel; peers §14",
)
GENERATED = declare(
    "name-generated",
    "A generated name is another one with each apply: nothing can refer to the object, and none is replaced",
    Severity.DEGRADES,
    "design §4 GitOps; kubectl apply refuses it",
)


SYNC = declare(
    "sync-recreates-set",
    "A sync option that deletes and makes the set anew with each change: every group goes at once",
    Severity.DEGRADES,
    "observability §4.3",
)

_OF_ONE_LABEL: Final = frozenset({"Namespace", "Service"})
_ANY_NAME: Final = frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
"""Kinds whose names may be any part of a path."""
_RUN_ONCE: Final = frozenset({"CronJob", "Job", "Pod"})
_TEXT, _MAP = "a text", "a map"
_SHOWN = 40
"""Characters of a wrong value that are shown."""


@rule(MALFORMED, kinds=EVERY_KIND)
def object_malformed(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Kind and names are texts, metadata and spec are maps, and an object that is sent has a name."""
    manifest = subject.manifest
    metadata = dig(manifest, "metadata")
    for key in ("apiVersion", "kind"):
        if not text(manifest, key):
            yield _wrong((key,), dig(manifest, key), _TEXT)
    if "metadata" in manifest and not isinstance(metadata, Mapping):
        yield _wrong(("metadata",), metadata, _MAP)
        return
    named = mapping(metadata)
    for key in ("generateName", "name", "namespace"):
        if key in named and not isinstance(named[key], str):
            yield _wrong(("metadata", key), named[key], _TEXT)
    known = subject.kind in GROUPS
    if known and not any(named.get(key) for key in ("generateName", "name")):
        yield Fault(
            path=("metadata", "name"),
            what=f"a {subject.kind} has no name",
            fix=f"write metadata: {{name: my-{subject.kind.lower()}}}",
        )
    if known and "spec" in manifest and not isinstance(manifest["spec"], Mapping):
        yield _wrong(("spec",), manifest["spec"], _MAP)


def _wrong(path: Path, value: Node | None, wanted: str) -> Fault:
    name = ".".join(str(part) for part in path)
    quotable = isinstance(value, int) and wanted == _TEXT
    fix = f'write {path[-1]}: "{_plain(value)}" in quotes' if quotable else f"write {wanted}"
    return Fault(path=path, what=f"{name} is {_called(value)}, not {wanted}", fix=fix)


def _called(value: Node | None) -> str:
    if value is None or value == "":
        return "missing"
    if isinstance(value, Mapping):
        return "a map"
    return f"`{_plain(value)}`" if isinstance(value, (int, str)) else "a list"


def _plain(value: object) -> str:
    return str(value).lower()[:_SHOWN] if isinstance(value, bool) else str(value)[:_SHOWN]


@rule(NAME, kinds=EVERY_KIND)
def name_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """A name is that of a host; that of a Service is one label of it. Sets have bounds of their own."""
    name = text(subject.manifest, "metadata", "name")
    if not name or subject.kind not in GROUPS or subject.kind in {*WORKLOADS, *_ANY_NAME}:
        return
    one = subject.kind in _OF_ONE_LABEL
    if not (is_dns_label if one else is_dns_subdomain)(name):
        most = LABEL_VALUE_LIMIT if one else NAME_LIMIT
        signs = "small letters, digits and `-`" if one else "small letters, digits, `-` and `.`"
        yield Fault(
            path=("metadata", "name"),
            what=f"`{name[:_SHOWN]}` is no name of a {subject.kind}: up to {most} {signs}, with a letter or digit at "
            "both ends",
            fix=f"write a name such as my-{subject.kind.lower()}",
        )


@rule(REFUSED, kinds=EVERY_KIND)
def metadata_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Keys are qualified names, values are texts, and those of labels are short."""
    for path, what, fix in refusals(dig(subject.manifest, "metadata")):
        yield Fault(path=("metadata", *path), what=what, fix=fix)
    for group in groups_of(documents, subject):
        for pod in templates(group):
            template = mapping(subject.manifest, *pod.path)
            for path, what, fix in refusals(dig(template, "metadata")):
                yield Fault(path=(*pod.path, "metadata", *path), what=what, fix=fix)
            for path, what, fix in label_refusals(dig(pod.spec, "nodeSelector")):
                yield Fault(path=(*pod.path, "spec", "nodeSelector", path[-1]), what=what, fix=fix)


@rule(GENERATED, kinds=EVERY_KIND)
def name_generated(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Every object has a name of its own; what is made to run once is made anew each time."""
    if subject.kind not in GROUPS or subject.kind in _RUN_ONCE:
        return
    prefix = text(subject.manifest, "metadata", "generateName")
    if prefix and not text(subject.manifest, "metadata", "name") and not owned(subject):
        yield Fault(
            path=("metadata", "generateName"),
            what=f"generateName {prefix} in place of a name",
            fix=f"write name: {prefix.rstrip('-')}",
        )


@rule(SYNC, kinds=SETS)
def sync_recreates_set(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A change of a set is rolled out by its controller."""
    options = text(subject.manifest, "metadata", "annotations", SYNC_OPTIONS)
    words = [word.strip().lower() for word in options.split(",")]
    if "force=true" in words:
        yield Fault(
            path=("metadata", "annotations", SYNC_OPTIONS),
            what="Force=true deletes the set and its groups and makes them anew with each change",
            fix="remove Force=true",
        )
