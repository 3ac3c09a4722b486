"""A parser that says which word was probably meant, and the options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from gangform.cli.terminal import UsageError

_WIDTH = 78
"""Characters of a line of help: what argparse takes on a terminal of 80."""
FORMATS = ("table", "wide", "json", "yaml", "markdown")


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that takes no abbreviations and says which word was probably meant."""

    def __init__(self, **options: Any) -> None:
        """Set what all parsers have in common."""
        # A width of its own: argparse asks the terminal's whenever an option is added, and imports `shutil` for it.
        formatter = partial(argparse.RawDescriptionHelpFormatter, width=_WIDTH)
        options.setdefault("formatter_class", formatter)
        super().__init__(allow_abbrev=False, **options)

    def format_help(self) -> str:
        """The help, its description in lines."""
        self.description = filled(self.description)
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


def filled(text: str | None) -> str:
    """A text in lines of at most 80 characters."""
    from textwrap import fill

    return fill(text or "", 80, break_on_hyphens=False)


def _meant(word: str, known: Sequence[str]) -> str:
    from gangform.findings import either
    from gangform.inputs.nearest import nearest

    near = nearest(word, known)
    return f"; did you mean {either([f'`{one}`' for one in near])}?" if near else ""


def add_command(
    commands: Any, name: str, where: str, *, help: str, examples: str, description: str = ""
) -> Parser:
    """A command, its help and its examples; `where` is `module:function`."""
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


def fleet_options(
    command: Parser, metavar: str = "SERVING", help: str = "only these servings"
) -> None:
    """The fleet file, and what of it is meant."""
    file_option(command)
    cluster_option(command)
    command.add_argument("servings", nargs="*", metavar=metavar, help=help)


def cluster_option(command: Parser) -> None:
    """Some clusters of the fleet."""
    command.add_argument(
        "--cluster",
        action="append",
        metavar="NAME",
        help="only this cluster; may be given several times",
    )


def file_option(command: Parser) -> None:
    """The fleet file."""
    command.add_argument(
        "-f",
        "--file",
        metavar="FILE",
        help="the fleet file (default: gangform.yaml, here or above up to the Git root)",
    )


def output_option(
    command: Parser, *, formats: Sequence[str] = FORMATS, default: str = "table"
) -> None:
    """The format of what a command reports."""
    command.add_argument(
        "-o",
        "--output",
        choices=formats,
        default=default,
        metavar="FORMAT",
        help=f"{', '.join(formats)} (default: {default})",
    )


def count(text: str) -> int:
    """A whole number of at least 1, as an option gives it."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number of at least 1")
    return int(text)
