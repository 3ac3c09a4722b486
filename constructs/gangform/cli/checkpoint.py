"""`gangform profiles import`: a model's profile out of a checkpoint."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from gangform.cli.files import keep_text
from gangform.cli.findings import refused, show, summary
from gangform.cli.terminal import UsageError, say, tell
from gangform.findings import InputError

NOTHING = "nothing was written"


def import_profile(arguments: Namespace) -> int:
    """Print the profile, or keep it beside the fleet file; a file of that name that says something else is kept."""
    from gangform.inputs.checkpoint import import_checkpoint
    from gangform.inputs.files import find_fleet_file

    if arguments.path is None:
        raise UsageError("PATH is missing: a checkpoint's folder, or its config.json")
    try:
        made = import_checkpoint(
            Path(arguments.path), repository=arguments.repository, name=arguments.called
        )
    except InputError as error:
        return refused(error, None, NOTHING)
    show(made.findings, None)
    if arguments.write:
        file = Path(arguments.file) if arguments.file is not None else find_fleet_file(Path.cwd())
        root = Path.cwd() if file is None else file.absolute().parent
        target = root / "profiles" / "models" / f"{made.profile.name}.yaml"
        keep_text(target, made.text, force=False)
    else:
        say(made.text)
    if made.findings:
        tell(summary(made.findings))
    return 0
