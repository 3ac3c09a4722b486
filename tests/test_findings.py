from __future__ import annotations

import pytest

from gangform.findings import (
    CODES,
    Code,
    DocumentPath,
    EnvironmentFault,
    Finding,
    GangformError,
    InputError,
    InputPath,
    Path,
    Severity,
    brief,
    declare,
    either,
    ordered,
    show_path,
    some,
)

BROKEN = Code("a-fault", "Something is wrong", Severity.BREAKS, "design §4")
POOR = Code("b-loss", "Something is lost", Severity.DEGRADES, "design §4")
UGLY = Code("c-remark", "Something is ugly", Severity.STYLE, "design §4")


def finding(code: Code = BROKEN, *path: str | int, what: str = "2 is not 3") -> Finding:
    return Finding(code=code, at=InputPath(path), what=what, fix="write 3")


@pytest.mark.parametrize(
    ("severity", "word"),
    [(Severity.BREAKS, "error"), (Severity.DEGRADES, "warning"), (Severity.STYLE, "note")],
)
def test_severities_have_one_scale_of_words(severity: Severity, word: str) -> None:
    assert severity.word == word


def test_only_what_breaks_refuses() -> None:
    assert [finding(code).breaks for code in (BROKEN, POOR, UGLY)] == [True, False, False]


def test_a_code_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(CODES, "test-of-declare", raising=False)
    code = declare("test-of-declare", "A test", Severity.STYLE, "here")
    try:
        assert CODES["test-of-declare"] is code
        assert code == Code("test-of-declare", "A test", Severity.STYLE, "here")
        with pytest.raises(ValueError, match="code `test-of-declare` is declared twice"):
            declare("test-of-declare", "Another", Severity.BREAKS, "there")
        assert CODES["test-of-declare"] is code
    finally:
        del CODES["test-of-declare"]


def test_findings_are_sorted_by_place_then_code_and_inputs_come_first() -> None:
    in_document = Finding(
        code=BROKEN, at=DocumentPath("Service", "llm", "a", ("spec",)), what="w", fix="f"
    )
    late = finding(POOR, "servings", "r1", "patches", 10)
    early = finding(UGLY, "servings", "r1", "patches", 2)
    same_place = finding(BROKEN, "servings", "r1", "patches", 2)
    assert ordered([in_document, late, early, same_place]) == (
        same_place,
        early,
        late,
        in_document,
    )


def test_what_was_said_twice_is_said_once() -> None:
    assert len(ordered([finding(), finding(), finding(what="2 is not 4")])) == 2


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("servings", "r1", "groups"), "servings.r1.groups"),
        (("spec", "containers", 0, "image"), "spec.containers[0].image"),
        (
            ("metadata", "labels", "app.kubernetes.io/name"),
            "metadata.labels[app.kubernetes.io/name]",
        ),
        (("pools", "h100-8x", "node_labels"), "pools.h100-8x.node_labels"),
        ((0, "name"), "[0].name"),
        (("a", ""), "a[]"),
    ],
)
def test_a_path_is_shown_as_people_write_it(path: Path, text: str) -> None:
    assert show_path(path) == text


def test_a_brief_finding_names_code_place_and_fix() -> None:
    assert brief(finding(POOR, "servings", "r1", "groups")) == (
        "warning[b-loss]: 2 is not 3\n  --> servings.r1.groups\n  fix: write 3"
    )


def test_a_brief_finding_on_a_document_names_the_object() -> None:
    at = DocumentPath("Service", "llm", "r1-leader", ("spec", "ports", 0))
    shown = brief(Finding(code=BROKEN, at=at, what="w", fix="f"))
    assert shown == "error[a-fault]: w\n  --> Service/r1-leader spec.ports[0]\n  fix: f"
    whole = Finding(code=BROKEN, at=DocumentPath("Service", "llm", "a", ()), what="w", fix="f")
    assert "--> Service/a\n" in brief(whole)


def test_an_input_error_carries_every_finding_in_order() -> None:
    second, first = finding(BROKEN, "servings", "b"), finding(BROKEN, "servings", "a")
    error = InputError(iter([second, first, second]))
    assert error.findings == (first, second)
    assert str(error) == f"{brief(first)}\n{brief(second)}"


@pytest.mark.parametrize(
    ("words", "said"), [("", ""), ("a", "a"), ("ab", "a or b"), ("abc", "a, b or c")]
)
def test_words_are_listed_as_a_sentence_does(words: str, said: str) -> None:
    assert either(words) == said


def test_all_errors_have_one_root() -> None:
    assert issubclass(InputError, GangformError)
    assert issubclass(EnvironmentFault, GangformError)


def test_of_many_names_the_first_are_said() -> None:
    assert some([], 2) == ""
    assert some(["a", "b"], 2) == "a, b"
    assert some(["a", "b", "c", "d"], 2) == "a, b and 2 more"
