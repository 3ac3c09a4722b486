"""The registry: every rule is tested both ways, runs on any content, and says nothing of a sound bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.apis.views import Documents
from gangform.documents.document import Document
from gangform.findings import CODES, declare
from gangform.findings import Severity as S
from gangform.rules.rule import MODULES, RULES, Context, Rule, judge, load, rule

HERE = Path(__file__).parent
Make = Callable[..., dict[str, Any]]
JUNK: list[Any] = [None, 3, -1, "x", "", True, [], {}, [[]], [3], {"x": 1}, "50%", {"a": {"b": []}}]


def documents(*manifests: Any) -> Documents:
    return Documents(Document(manifest=each, builder="") for each in manifests)


@pytest.fixture(scope="module")
def sound(make: Make, queue: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A set in a queue, a Deployment, and what stands around them."""
    both = {"required-topology": "example.com/rack", "group-name": "group"}
    annotations = {
        f"B>metadata>annotations>kueue.x-k8s.io/podset-{key}": value for key, value in both.items()
    }
    annotations["L>C>env"] = [{"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": "3600"}]  # type: ignore[assignment]
    label = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving"}
    names = ("deployment", "service", "budget", "monitor", "rules")
    return [make("set", {**annotations, **label}), *queue, *(make(name) for name in names)]


def test_every_rule_is_tested_both_ways() -> None:
    text = "\n".join(path.read_text("utf-8") for path in sorted(HERE.glob("test_*.py")))
    for word in ("refused", "accepted"):
        tested = set(re.findall(rf'\b{word}\(\s*"([a-z0-9-]+)"', text))
        assert not set(load()) - tested, f"{word}: {sorted(set(load()) - tested)}"
        assert not tested - set(load()), f"{word}: no rule {sorted(tested - set(load()))}"


def test_every_rule_has_a_code_with_a_source_and_knows_its_kinds() -> None:
    for code, each in load().items():
        assert CODES[code] is each.code
        assert each.code.source and each.kinds and each.check.__doc__


def test_every_module_is_listed() -> None:
    import gangform.rules

    folder = Path(gangform.rules.__path__[0])
    written = {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "rule",
        "joins",
        "demand",
        "names",
        "ports",
        "starts",
    }
    assert written == set(MODULES)


def test_a_sound_bundle_is_not_remarked_upon(sound: list[dict[str, Any]]) -> None:
    assert judge(documents(*sound), Context()) == []
    assert judge(documents(*sound), Context(complete=True)) == []


def test_findings_come_in_order_and_once(make: Make) -> None:
    wrong = make("set", {"L>C>image": "IMAGE", "W>C>image": "IMAGE", "metadata>name": "r" * 60})
    findings = judge(documents(wrong, make("service")), Context())
    keys = [finding.sort_key() for finding in findings]
    assert keys == sorted(set(keys))
    assert judge(documents(make("service"), wrong), Context()) == findings


def test_a_rule_without_its_context_is_silent() -> None:
    made = Rule(
        code=next(iter(load().values())).code,
        kinds=("Service",),
        scope="cluster",
        needs=frozenset({"versions", "exists"}),
        check=lambda subject, documents, context: iter(()),
    )
    assert not made.applies(Context(complete=True).offers())
    assert not made.applies(Context().offers())
    assert Context(complete=True).offers() == {"complete"}


def test_a_code_has_one_rule_and_needs_are_fields_of_the_context() -> None:
    code = declare("only-of-this-test", "A code of a test", S.STYLE, "here")
    try:
        with pytest.raises(ValueError, match="has no weather"):
            rule(code, kinds=("Service",), needs=("weather",))(lambda *_: iter(()))
        taken = load()["selector-matches-nothing"].code
        with pytest.raises(ValueError, match="has a rule already"):
            rule(taken, kinds=("Service",))(lambda *_: iter(()))
        assert code.id not in RULES
    finally:
        del CODES[code.id]


# ── any content ──────────────────────────────────────────────────────────────────────────────────


def paths(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(node, (dict, list)):
        items: Any = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            yield from paths(value, (*at, key))


def replaced(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copied = dict(node) if isinstance(node, dict) else list(node)
    copied[path[0]] = replaced(node[path[0]], path[1:], value)
    return copied


@pytest.fixture(scope="module")
def everything(sound: list[dict[str, Any]], make: Make) -> list[dict[str, Any]]:
    return [*sound, *(make(name) for name in ("scaler", "keda", "pod_group"))]


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.thorough) for first in range(1, 5))]
)
def test_no_rule_raises_where_a_value_is_something_else(
    everything: list[dict[str, Any]], first: int
) -> None:
    for number, manifest in enumerate(everything):
        for place, path in list(enumerate(list(paths(manifest))[1:]))[first::5]:
            junk = JUNK[place % len(JUNK)]
            changed = [*everything]
            changed[number] = replaced(manifest, path, junk)
            judge(documents(*changed), Context(complete=place % 2 == 0))


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_rule_raises_on_several_wrong_values(
    everything: list[dict[str, Any]], data: st.DataObject
) -> None:
    changed = [*everything]
    for _ in range(data.draw(st.integers(2, 5))):
        number = data.draw(st.integers(0, len(changed) - 1))
        ways = list(paths(changed[number]))[1:]
        if ways:
            path = data.draw(st.sampled_from(ways))
            junk = data.draw(st.sampled_from(JUNK))
            changed[number] = replaced(changed[number], path, junk)
    judge(documents(*changed), Context(complete=data.draw(st.booleans())))
