"""Images against what they are told to run: a release that bears the command line, programs that are inside."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis.forms import PodView
from gangform.apis.versions import Release
from gangform.apis.views import Documents
from gangform.documents.document import text
from gangform.engines.images import programs, published
from gangform.findings import Severity, declare
from gangform.rules.joins import Run, over_templates, read_runs
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

TOO_OLD = declare(
    "engine-older-than-flags",
    "The image's release of the engine does not bear the command line",
    Severity.BREAKS,
    "engines §1.1, §1.8; cases r11",
)
NO_PROGRAM = declare(
    "program-not-in-image",
    "The command starts a program that the published image does not carry any more",
    Severity.BREAKS,
    "peers, direction of travel; cases h15",
)


def _release(run: Run, context: Context) -> Release | None:
    """The release of the engine in a container: of its tag, or what one was told of other images."""
    known = published(text(run.container, "image"))
    if known is not None and (known.release is not None or known.moves):
        return known.release
    return (context.engines or {}).get(run.reading.engine) if run.reading is not None else None


@rule(TOO_OLD, kinds=WORKLOADS)
@over_templates
def engine_older_than_flags(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """An engine is new enough for its command line."""
    for run in read_runs(documents, pod):
        if run.reading is None or run.reading.floor is None:
            continue
        release, (least, why) = _release(run, context), run.reading.floor
        if release is not None and release < least:
            yield Fault(
                path=(*run.path, "image"),
                what=f"{run.reading.engine} {release} over several nodes: {why}",
                fix=f"use {least} or newer",
                seen={"release": str(release), "least": str(least)},
            )


@rule(NO_PROGRAM, kinds=WORKLOADS)
@over_templates
def program_not_in_image(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """What a container starts is in its image."""
    for run in read_runs(documents, pod):
        image = text(run.container, "image")
        known = published(image)
        if known is None or run.begun is None:
            continue
        for program in sorted(known.lacks & programs(run.begun)):
            yield Fault(
                path=(*run.path, "image"),
                what=f"`{image}` carries no {program}, which the command starts",
                fix=f"use an image with {program} inside, or start without it: --nnodes, --node-rank and "
                "--master-addr",
                seen={"program": program},
            )
