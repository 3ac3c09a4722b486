"""How every command is run, and how it ends.

0 done, also with warnings; 1 an error in the inputs, or output that is not current; 2 wrongly called;
3 the machine is not able; 70 a fault in gangform; 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from gangform.cli import later
from gangform.cli.commands import COMMANDS, parser
from gangform.cli.terminal import UsageError, finish, hang_up, paint, prepare, say, tell
from gangform.findings import EnvironmentFault, InputError

OK, WRONG, USAGE, ENVIRONMENT, FAULT, INTERRUPTED, HUNG_UP = 0, 1, 2, 3, 70, 130, 141

Command = Callable[[argparse.Namespace], int]


def run() -> int:
    """`main` in a process of its own: what lives for a second needs no collector and no plugins.

    Collecting garbage took a fifth of a large synthesis and, at the end, a twentieth of a small one; looking for
    pydantic's plugins took a twelfth of it.
    """
    gc.disable()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    later.begin()
    status = main()
    gc.freeze()  # so that the interpreter, too, looks for none when it ends
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in words
    prepare()
    try:
        try:
            status = _run(words)
        except SystemExit as stop:  # argparse, after --help
            status = stop.code if isinstance(stop.code, int) else OK
        finish()
        return status
    except UsageError as error:
        return _stopped(str(error), USAGE)
    except EnvironmentFault as error:
        return _stopped(str(error), ENVIRONMENT)
    except InputError as error:
        return _refused(error)
    except BrokenPipeError:
        hang_up()
        return HUNG_UP
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except OSError as error:
        if debug:
            raise
        place = error.filename or "output"
        cure = "; make it readable and writable for this user, or choose another place"
        said = f"{place}: {error.strerror or error}{cure if error.filename else ''}"
        return _stopped(said, ENVIRONMENT)
    except Exception as error:
        if debug:
            raise
        return _stopped(
            f"a fault in gangform: {type(error).__name__}: {error}\n"
            "the inputs are not to blame; `--debug` shows where it is, for a report",
            FAULT,
        )


def _run(words: Sequence[str]) -> int:
    # Who names a command first needs no other: building all of them takes longer than parsing the words.
    root = parser(words[0] if words and words[0] in COMMANDS else None)
    arguments, unknown = root.parse_known_args(words)
    if arguments.version:
        from gangform import __version__

        say(f"gangform {__version__}")
        return OK
    if arguments.command is None:
        if unknown:
            root.wrong(unknown)
        raise UsageError(f"a command is missing\n\n{root.format_help().rstrip()}")
    options = [word for word in unknown if word.startswith("-")]
    if options or (unknown and not hasattr(arguments, "servings")):
        arguments.parser.wrong(options or unknown)
    if unknown:  # argparse takes only one run of words: `synth a --check b`
        arguments.servings += unknown
    module, _, name = str(arguments.run).partition(":")
    return cast(Command, getattr(import_module(module), name))(arguments)


def _refused(error: InputError) -> int:
    from gangform.cli.findings import refused

    return refused(error, None)


def _stopped(message: str, status: int) -> int:
    tell(f"{paint('error', 'red', sys.stderr)}: {message}")
    return status
