"""All codes, and what is known of one: everything is read from its declaration and from the rule that judges by it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gangform.findings import CODES, Code, Severity

if TYPE_CHECKING:
    from gangform.rules.rule import Rule

_NOT_IMPORTED = ("gangform.__main__", "gangform.chart", "gangform.cli")
"""Modules that declare no code and cost much, or run something."""
_MEANS = {
    Severity.BREAKS: "it does not start, never serves, or does not do what it is there for. Nothing is "
    "written, and lint ends with 1",
    Severity.DEGRADES: "it works, but loses capacity, safety or time. It is written all the same",
    Severity.STYLE: "it works, and is worth a remark",
}
_NEEDED = {
    "versions": "the releases that run (`--versions`)",
    "domains": "how many domains a level has (`--given` with Nodes, or `domains`)",
    "provider": "who makes PodGroups (`--given` with LeaderWorkerSet's ConfigMap, or `lwsSchedulerProvider`)",
    "cold_starts": "how long the load takes (`--given` with `coldStart`)",
}
"""What says a field of the context to `gangform lint`; `synth` takes it from the inputs."""
_WHOLE = "the knowledge that nothing else lies beside (`--given` with `complete: true`)"
_NOTES = {
    "cases": "collected examples",
    "design": "the design of gangform",
    "engines": "notes on the engines",
    "kueue": "notes on Kueue",
    "lab": "tests on the real controllers",
    "lws": "notes on LeaderWorkerSet",
    "observability": "notes on observability",
    "peers": "notes on other projects",
    "volcano": "notes on Volcano",
}
_NOTE = re.compile(rf"\b({'|'.join(_NOTES)})(?:,| (?=§|[A-Z]\d|[rh]\d|row |lint |summary ))")
_ISSUE = re.compile(r"(?<!/)\b(lws|kueue)#(?=\d)")


def every_code() -> list[Code]:
    """All codes that any module declares, by id."""
    from importlib import import_module
    from pkgutil import walk_packages

    import gangform

    for module in walk_packages(gangform.__path__, "gangform."):
        if not module.name.startswith(_NOT_IMPORTED):
            import_module(module.name)
    return sorted(CODES.values(), key=lambda code: code.id)


def row(code: Code) -> dict[str, Any]:
    """A code as the list of all has it."""
    return {
        "code": code.id,
        "severity": code.severity.word,
        "meaning": code.title,
        "source": code.source,
    }


def told(code: Code) -> dict[str, Any]:
    """Everything that is known of a code: its declaration, and the rule that judges by it, where one does."""
    from gangform.rules.rule import RULES

    rule = RULES.get(code.id)
    data = {**row(code), "consequence": _MEANS[code.severity]}
    return data if rule is None else {**data, **_judged(rule)}


def _judged(rule: Rule) -> dict[str, Any]:
    from gangform.rules.rule import EVERY_KIND

    needs = [_NEEDED[name] for name in sorted(rule.needs)]
    if rule.scope == "cluster":
        needs.append(_WHOLE)
    return {
        "rule": " ".join((rule.check.__doc__ or "").split()),
        "judges": ["every object"] if rule.kinds == EVERY_KIND else list(rule.kinds),
        "needs": needs,
        "module": rule.check.__module__,
    }


def shown(code: Code) -> dict[str, str]:
    """The same for people, by the heads of its lines."""
    data = told(code)
    lines = {
        "severity": f"{data['severity']}: {data['consequence']}",
        "meaning": data["meaning"],
        "rule": data.get("rule", ""),
        "judges": ", ".join(data.get("judges", ())),
        "silent without": "; ".join(data.get("needs", ())),
        "source": spelled(data["source"]),
        "module": data.get("module", ""),
    }
    if "rule" in data:
        lines["hide"] = (
            f"`gangform lint --ignore {code.id}`, or `# gangform: ignore[{code.id}] REASON` in the file"
        )
    return {head: text for head, text in lines.items() if text}


def spelled(source: str) -> str:
    """The source of a code with the notes called by their subject: `notes on LeaderWorkerSet, §3`."""
    named = _NOTE.sub(lambda found: f"{_NOTES[found[1]]}, ", source)
    return _ISSUE.sub(r"kubernetes-sigs/\1#", named.replace(",  ", ", "))
