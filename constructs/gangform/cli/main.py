"""The parser, and how every command ends.

0 done, also with warnings; 1 an error in the inputs, or output that is not current; 2 wrongly called;
3 the machine is not able; 70 a fault in gangform; 130 interrupted.

Nothing heavy is imported here: a command's module is loaded when the command runs, so help and completion are quick.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn, cast

from gangform.cli.later import import_later
from gangform.cli.terminal import UsageError, finish, hang_up, paint, prepare, say, tell
from gangform.findings import EnvironmentFault, InputError

FORMATS = ("table", "wide", "json", "yaml", "markdown")
OK, WRONG, USAGE, ENVIRONMENT, FAULT, INTERRUPTED, HUNG_UP = 0, 1, 2, 3, 70, 130, 141

_ENDS = """\
exit codes:
  0  done, also with warnings
  1  an error in the inputs, or output that is not current
  2  wrongly called
  3  the machine is not able: a folder that cannot be written, no Node
"""

Command = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that takes no abbreviations and says which word was probably meant."""

    def __init__(self, **options: Any) -> None:
        """Set what all parsers have in common."""
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def format_help(self) -> str:
        """The help, its description in lines."""
        self.description = _filled(self.description)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Leave with the exit code of a usage error.

        Raises:
            UsageError: Always.
        """
        raise UsageError(
            f"{message}\n\n{self.format_usage().rstrip()}\n`{self.prog} --help` says more"
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action, f"`{value}` is none of {', '.join(known)}{_meant(str(value), known)}"
            )

    def wrong(self, words: Sequence[str]) -> NoReturn:
        """Leave because of words that no option or argument takes.

        Raises:
            UsageError: Always.
        """
        known = [text for action in self._actions for text in action.option_strings]
        said = [f"`{word}` is not known here{_meant(word.split('=')[0], known)}" for word in words]
        self.error("; ".join(said))


def _filled(text: str | None) -> str:
    from textwrap import fill

    return fill(text or "", 80, break_on_hyphens=False)


def _meant(word: str, known: Sequence[str]) -> str:
    from gangform.inputs.nearest import nearest

    near = nearest(word, known)
    return f"; did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else ""


def parser(only: str | None = None) -> Parser:
    """Every command with its options, or one alone. `shtab` makes completions out of it."""
    root = Parser(
        prog="gangform",
        description="Writes complete, consistent Kubernetes bundles for multi-node LLM serving.",
        epilog="examples:\n"
        "  gangform init --model deepseek-r1 --hardware h100-8x   write a first gangform.yaml\n"
        "  gangform plan                                          see what it takes\n"
        "  gangform synth                                         write dist/\n"
        "  gangform synth --check                                 in CI: is dist/ current?\n\n"
        f"{_ENDS}",
    )
    root.add_argument("--version", action="store_true", help="print the version")
    root.add_argument("--debug", action="store_true", help="show tracebacks")
    # The name of the program is what argparse would find, by formatting a usage.
    commands = root.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", prog=root.prog
    )
    for name, add in _COMMANDS.items():
        if only in (None, name):
            add(commands)
    if only is None:
        # Completions show the first line.
        for command in commands.choices.values():
            command.description = _filled(command.description)
    return root


def _add(
    commands: Any, name: str, where: str, *, help: str, examples: str, description: str = ""
) -> Parser:
    command: Parser = commands.add_parser(
        name,
        help=help,
        description=description or f"{help[0].upper()}{help[1:]}.",
        epilog=f"examples:\n{examples}",
    )
    command.set_defaults(run=where, parser=command)
    command.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks"
    )
    return command


def _fleet(command: Parser) -> None:
    _file(command)
    command.add_argument(
        "--cluster",
        action="append",
        metavar="NAME",
        help="only this cluster; may be given several times",
    )
    command.add_argument("servings", nargs="*", metavar="SERVING", help="only these servings")


def _file(command: Parser) -> None:
    command.add_argument(
        "-f",
        "--file",
        metavar="FILE",
        help="the fleet file (default: gangform.yaml, here or above up to the Git root)",
    )


def _output(command: Parser, *, formats: Sequence[str] = FORMATS, default: str = "table") -> None:
    command.add_argument(
        "-o",
        "--output",
        choices=formats,
        default=default,
        metavar="FORMAT",
        help=f"{', '.join(formats)} (default: {default})",
    )


def _synth(commands: Any) -> None:
    synth = _add(
        commands,
        "synth",
        "gangform.cli.synth:synth",
        help="write the manifests",
        description="Write the manifests: one file a serving and one for each cluster's queues and topology. Files of "
        "gangform that are no longer made are removed; all others are left alone. With an error nothing is written.",
        examples="  gangform synth\n  gangform synth deepseek-r1 --cluster prod-a\n"
        "  gangform synth --stdout | kubectl diff -f -\n  gangform synth --check",
    )
    _fleet(synth)
    synth.add_argument(
        "--output-dir",
        metavar="FOLDER",
        help="where to write (default: $CDK8S_OUTDIR, else dist beside the fleet file)",
    )
    instead = synth.add_mutually_exclusive_group()
    instead.add_argument("--stdout", action="store_true", help="print the manifests instead")
    instead.add_argument(
        "--check",
        action="store_true",
        help="write nothing; show what would change, and exit with 1 if anything would",
    )


def _validate(commands: Any) -> None:
    validate = _add(
        commands,
        "validate",
        "gangform.cli.synth:validate",
        help="check all that synth checks, writing nothing",
        examples="  gangform validate\n  gangform validate -o json",
    )
    _fleet(validate)
    _output(validate, formats=("table", "json", "yaml"))


def _plan(commands: Any) -> None:
    plan = _add(
        commands,
        "plan",
        "gangform.cli.show:plan",
        help="show what every serving takes, and what has to be there first",
        description="Show how every serving runs, with the arithmetic: form, shape, memory, cold start, rollout, "
        "drains, quota and placement. Ends with what has to be there before it works. Also a fleet with errors has a "
        "plan.",
        examples="  gangform plan\n  gangform plan deepseek-r1 -o wide\n  gangform plan -o markdown >> comment.md",
    )
    _fleet(plan)
    _output(plan)


def _init(commands: Any) -> None:
    init = _add(
        commands,
        "init",
        "gangform.cli.fleet:init",
        help="write a first gangform.yaml",
        examples="  gangform init --model deepseek-r1 --hardware h100-8x\n"
        "  gangform init --model qwen3-32b --hardware aws-p5 --groups 4 --admission none",
    )
    init.add_argument("--model", metavar="NAME", help="a model that `gangform profiles` lists")
    init.add_argument("--hardware", metavar="NAME", help="a kind of node that it lists")
    init.add_argument("--groups", type=_groups, default=1, metavar="N", help="copies (default: 1)")
    init.add_argument(
        "--admission", default="kueue", metavar="NAME", help="who starts groups (default: kueue)"
    )
    init.add_argument("--cluster", default="prod", metavar="NAME", help="(default: prod)")
    init.add_argument("--namespace", default="llm", metavar="NAME", help="(default: llm)")
    init.add_argument("--name", metavar="NAME", help="of the serving (default: as the model)")
    init.add_argument("--engine-version", metavar="VERSION", help="(default: the newest known)")
    init.add_argument("-f", "--file", default="gangform.yaml", metavar="FILE", help="what to write")
    init.add_argument("--force", action="store_true", help="replace a file that is there")


def _explain(commands: Any) -> None:
    explain = _add(
        commands,
        "explain",
        "gangform.cli.explain:explain",
        help="explain a code, an input field, or a value in the output",
        examples="  gangform explain                                     all codes\n"
        "  gangform explain model-does-not-fit\n"
        "  gangform explain servings.parallelism.tensor\n"
        "  gangform explain LeaderWorkerSet/deepseek-r1 spec.replicas",
    )
    _file(explain)
    _output(explain)
    explain.add_argument("target", nargs="?", metavar="CODE|FIELD|KIND/NAME")
    explain.add_argument("path", nargs="?", metavar="PATH", help="a field of that object")


def _profiles(commands: Any) -> None:
    profiles = _add(
        commands,
        "profiles",
        "gangform.cli.fleet:profiles",
        help="list models, hardware and clusters, or show one with its sources",
        examples="  gangform profiles\n  gangform profiles deepseek-r1",
    )
    _file(profiles)
    _output(profiles)
    profiles.add_argument("name", nargs="?", metavar="NAME")


def _schema(commands: Any) -> None:
    schema = _add(
        commands,
        "schema",
        "gangform.cli.fleet:schema",
        help="print the JSON Schema of a file, for editors",
        examples="  gangform schema > gangform.schema.json\n  gangform schema model -o yaml",
    )
    kinds = ("fleet", "serving", "cluster", "model", "hardware")
    schema.add_argument("kind", nargs="?", choices=kinds, default="fleet", metavar="KIND")
    _output(schema, formats=("json", "yaml"), default="json")


def _completion(commands: Any) -> None:
    completion = _add(
        commands,
        "completion",
        "gangform.cli.fleet:completion",
        help="print a completion script for a shell",
        examples='  eval "$(gangform completion bash)"\n'
        '  gangform completion zsh > "${fpath[1]}/_gangform"',
    )
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))


_COMMANDS: Mapping[str, Callable[[Any], None]] = {
    "synth": _synth,
    "validate": _validate,
    "plan": _plan,
    "init": _init,
    "explain": _explain,
    "profiles": _profiles,
    "schema": _schema,
    "completion": _completion,
}
"""Who adds a command, in the order of the help."""


def _groups(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number of at least 1")
    return int(text)


def run() -> int:
    """`main` in a process of its own: what lives for a second needs no collector and no plugins.

    Collecting garbage took a fifth of a large synthesis, and looking for pydantic's plugins a twelfth of a small one.
    """
    gc.disable()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    import_later("importlib.metadata", "entry_points")
    return main()


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
    root = parser(words[0] if words and words[0] in _COMMANDS else None)
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
