"""Labels and annotations that the API server would refuse, on objects and on the pods of their templates."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis.keys import SYNC_OPTIONS
from gangform.apis.metadata import label_refusals, refusals
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, mapping, text
from gangform.findings import Severity, declare
from gangform.rules.joins import SETS, groups_of, owned, templates
from gangform.rules.rule import EVERY_KIND, Context, Fault, rule

REFUSED = declare(
    "metadata-refused",
    "The API server refuses a key or value among labels and annotations",
    Severity.BREAKS,
    "apimachinery: validation of ObjectMeta",
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
    """Every object has a name of its own."""
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
