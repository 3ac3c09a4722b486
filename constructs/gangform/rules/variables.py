"""Variables of containers: somebody fills them in, where they are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import PodView
from gangform.apis.views import Documents, form_of
from gangform.documents.document import Manifest, sequence, text
from gangform.engines.shell import name_of
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import Run, over_templates, runs
from gangform.rules.placeholders import unrendered
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

SHELL = declare(
    "shell-variable-literal",
    "A shell variable where no shell runs: the process gets the dollar sign and the name",
    Severity.BREAKS,
    "Kubernetes: only $(NAME) is expanded in command and args",
)
VALUE = declare(
    "shell-variable-in-value",
    "A shell variable in the value of a variable: nothing fills it in, and a path loses what the image has on it",
    Severity.DEGRADES,
    "Kubernetes: only $(NAME) is expanded in env values",
)
PART = declare(
    "shell-variable-in-text",
    "A shell variable inside the value of a variable: it stays as it is written, unless a shell reads it later",
    Severity.STYLE,
    "Kubernetes: only $(NAME) is expanded in env values",
)
UNDEFINED = declare(
    "variable-undefined",
    "A reference $(NAME) to a variable that the container does not have: it stays as it is written",
    Severity.BREAKS,
    "engines §1.3; Kubernetes: only variables before it are expanded",
)

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"})
_SHELL_VARIABLE: Final = re.compile(r"(?<![\\$])\$(?:\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)")
_WHOLE: Final = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?-[^{}]*)?\}|([A-Za-z_]\w*))")
_INSIDE: Final = re.compile(
    r"(?<![\\$])\$(?:\{([A-Z_][A-Z0-9_]*)(?::?-[^{}]*)?\}|([A-Z_]{2}[A-Z0-9_]*))"
)
_PATHS: Final = re.compile(r"(?:^|_)(?:PATH|PATHS|[A-Z]+PATH)$")
_CALLED: Final = re.compile(r"(?<!\$)(?:\$\$)*\$\(([A-Z][A-Z0-9_]+)\)")
"""In a script: commands are not called in capitals."""
_REMARK: Final = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_REFERENCE: Final = re.compile(r"(?<!\$)(?:\$\$)*\$\(([A-Za-z_][\w.-]*)\)")
_FROM_OUTSIDE: Final = re.compile(
    r"^(KUBERNETES_.*|TPU_.*|.*_SERVICE_(HOST|PORT)(_.*)?|.*_PORT(_.*)?)$"
)
"""Service links, and what the controller sets on other accelerators."""


def _texts(container: Manifest) -> Iterator[tuple[Path, str]]:
    for key in ("command", "args"):
        for index, word in enumerate(sequence(container, key)):
            if isinstance(word, str):
                yield (key, index), word


def _in_shell(container: Manifest) -> bool:
    """Whether a shell reads the words; an image's own entry point is taken for none."""
    command = [word for word in sequence(container, "command") if isinstance(word, str)]
    words = [*command, *(w for w in sequence(container, "args") if isinstance(w, str))]
    return any(name_of(word) in _SHELLS for word in words[:3])


@rule(SHELL, kinds=WORKLOADS)
@over_templates
def shell_variable_literal(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Words that no shell reads hold no shell variables."""
    if unrendered(documents, pod.document):
        return  # All of it is still to be filled in, which is said once.
    for run in runs(pod):
        if _in_shell(run.container) or not sequence(run.container, "command"):
            continue
        for path, word in _texts(run.container):
            for found in _SHELL_VARIABLE.findall(word):
                name = found.strip("${}")
                yield Fault(
                    path=(*run.path, *path),
                    what=f"`{found}` reaches `{text(run.container, 'name')}` as it is written",
                    fix=f"write $({name}), with {name} among the container's variables",
                )


@rule(VALUE, kinds=WORKLOADS)
@over_templates
def shell_variable_in_value(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Values of variables hold no shell variables."""
    for run, index, name, value in _values(documents, pod):
        whole = _WHOLE.fullmatch(value)
        inside = _INSIDE.search(value) if _PATHS.search(name) else None
        if whole is not None:
            asked = whole[1] or whole[2]
            fix = f"take it from a Secret or ConfigMap, or write $({asked})"
        elif inside is not None:
            fix = f"write the whole {name}, or extend it in a shell before the program starts"
        else:
            continue
        yield Fault(
            path=(*run.path, "env", index, "value"), what=f"{name} is the text `{value}`", fix=fix
        )


@rule(PART, kinds=WORKLOADS)
@over_templates
def shell_variable_in_text(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Values of variables ask for others the way the kubelet reads it."""
    for run, index, name, value in _values(documents, pod):
        found = _INSIDE.search(value)
        if found is None or _PATHS.search(name) or _WHOLE.fullmatch(value):
            continue
        asked = found[1] or found[2]
        yield Fault(
            path=(*run.path, "env", index, "value"),
            what=f"{name} has `{found[0]}` in it as text",
            fix=f"write $({asked}), with {asked} before it among the variables",
        )


def _values(documents: Documents, pod: PodView) -> Iterator[tuple[Run, int, str, str]]:
    """Variables of containers whose values are one line: others are scripts or files."""
    for run in () if unrendered(documents, pod.document) else runs(pod):
        for index, variable in enumerate(sequence(run.container, "env")):
            value = text(variable, "value")
            if "$" in value and "\n" not in value:
                yield run, index, text(variable, "name"), value


@rule(UNDEFINED, kinds=WORKLOADS)
@over_templates
def variable_undefined(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Every $(NAME) is a variable of the container that stands before it."""
    form = form_of(pod.document.kind)
    injected = form is not None and form.rendezvous() is not None
    own = {lws.ADDRESS_VARIABLE, lws.SIZE_VARIABLE, lws.RANK_VARIABLE} if injected else set()
    for run in runs(pod):
        if sequence(run.container, "envFrom") or "image" not in run.container:
            continue
        names = set(own)
        for index, variable in enumerate(sequence(run.container, "env")):
            for name in _REFERENCE.findall(text(variable, "value")):
                if name not in names and not _FROM_OUTSIDE.match(name):
                    yield _undefined((*run.path, "env", index, "value"), name, names)
            names.add(text(variable, "name"))
        shell = _in_shell(run.container)
        for path, word in _texts(run.container):
            asked = _CALLED.findall(_REMARK.sub("", word)) if shell else _REFERENCE.findall(word)
            for name in dict.fromkeys(asked):
                if name not in names and not _FROM_OUTSIDE.match(name):
                    yield _undefined((*run.path, *path), name, names, called=shell)


def _undefined(path: Path, name: str, names: set[str], *, called: bool = False) -> Fault:
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(names), n=1, cutoff=0.6)
    return Fault(
        path=path,
        what=f"no variable {name} is defined before it, so that `$({name})` "
        + ("is a command to the shell" if called else "stays as it is"),
        fix=f"write $({close[0]})" if close else f"add {name} to the container's env, before it",
        seen={"variable": name},
    )
