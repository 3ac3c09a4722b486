"""`gangform lint` as a user calls it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gangform.rules.rule import RULES, load

Run = Callable[..., Any]

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: r1
  namespace: llm
spec:
  selector:
    matchLabels: {app: others}
  template:
    metadata:
      labels: {app: others}
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:latest
          resources: {limits: {nvidia.com/gpu: 1}}
          env: [{name: A, value: "naïve"}, {name: HOME_OF, value: $HOME}]
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: llm}
spec: {selector: {app: other}, ports: [{port: 80}]}
"""
BREAKS, DEGRADES = "selector-matches-nothing", "image-tag-moves"


@pytest.fixture
def file(folder: Path) -> str:
    (folder / "k8s").mkdir()
    (folder / "k8s" / "all.yaml").write_text(MANIFEST, encoding="utf-8")
    return "k8s/all.yaml"


def stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    buffer = io.BytesIO(text.encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=buffer, isatty=lambda: False))


def test_findings_are_the_result_and_the_summary_is_not(run: Run, file: str) -> None:
    status, out, err = run("lint", file)
    assert status == 1
    assert (
        f"error[{BREAKS}]: no pod carries app=other\n"
        "  --> k8s/all.yaml:22:8: Service/llm/api spec.selector\n"
    ) in out
    assert f"warning[{DEGRADES}]: " in out
    assert (
        "  --> k8s/all.yaml:15:11: Deployment/llm/r1 spec.template.spec.containers[engine].image\n"
        in out
    )
    assert err.startswith("1 error, ")
    assert err.endswith("; 2 objects judged\n")


def test_only_what_breaks_fails(run: Run, file: str) -> None:
    assert run("lint", file, "--ignore", BREAKS).status == 0
    assert run("lint", file, "--select", DEGRADES).status == 0
    assert run("lint", file, "--select", f"{DEGRADES},{BREAKS}").status == 1


def test_codes_are_selected_and_ignored(run: Run, file: str) -> None:
    def codes(*options: str) -> set[str]:
        return {one["code"] for one in json.loads(run("lint", file, "-o", "json", *options).out)}

    everything = codes()
    assert {BREAKS, DEGRADES} < everything
    assert codes("--select", BREAKS, "--select", DEGRADES) == {BREAKS, DEGRADES}
    assert codes("--ignore", f"{BREAKS}, {DEGRADES}") == everything - {BREAKS, DEGRADES}
    assert codes("--select", BREAKS, "--ignore", BREAKS) == set()


def test_findings_as_json(run: Run, file: str) -> None:
    status, out, _ = run("lint", file, "-o", "json")
    assert status == 1
    found = {one["code"]: one for one in json.loads(out)}
    assert found[BREAKS] == {
        "code": BREAKS,
        "severity": "breaks",
        "level": "error",
        "object": "Service/api",
        "namespace": "llm",
        "path": "spec.selector",
        "file": file,
        "line": 22,
        "column": 8,
        "what": "no pod carries app=other",
        "fix": found[BREAKS]["fix"],
        "seen": {"selector": "app=other"},
    }
    assert found[DEGRADES]["severity"] == "degrades"
    assert found["shell-variable-in-value"]["path"].endswith(
        "containers[engine].env[HOME_OF].value"
    )
    assert (
        found["shell-variable-in-value"]["line"],
        found["shell-variable-in-value"]["column"],
    ) == (17, 60)


def test_findings_as_sarif(
    run: Run, folder: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder / "k8s")
    _, out, _ = run("lint", "all.yaml", "-o", "sarif")
    log = json.loads(out)
    assert log["version"] == "2.1.0"
    (one_run,) = log["runs"]
    rules = one_run["tool"]["driver"]["rules"]
    for result in one_run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["defaultConfiguration"]["level"] == result["level"]
        assert rule["help"]["text"] and rule["shortDescription"]["text"]
    (result,) = [one for one in one_run["results"] if one["ruleId"] == BREAKS]
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": file, "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 22, "startColumn": 8}
    assert one_run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{folder.as_uri()}/"
    moved = folder / "k8s" / "all.yaml"
    moved.write_text(f"# a comment\n\n{MANIFEST}", encoding="utf-8")
    (after,) = json.loads(run("lint", "all.yaml", "-o", "sarif").out)["runs"]
    assert prints(after) == prints(one_run)
    assert len(set(prints(after))) == len(after["results"])


def prints(one_run: Any) -> list[str]:
    return [result["partialFingerprints"]["gangformField/v1"] for result in one_run["results"]]


def test_findings_as_commands_of_github(run: Run, folder: Path) -> None:
    name = "a, b: 100%.yaml"
    (folder / name).write_text(MANIFEST, encoding="utf-8")
    status, out, _ = run("lint", name, "-o", "github", "--select", f"{BREAKS},{DEGRADES}")
    assert status == 1
    first, second = out.splitlines()
    assert second.startswith(
        f"::error file=a%2C b%3A 100%25.yaml,line=22,col=8,title={BREAKS}::no pod carries app=other%0Afix: "
    )
    assert first.startswith("::warning file=")


def test_nothing_found_is_said(run: Run, file: str) -> None:
    assert run("lint", file, "--select", "key-repeated")[:2] == (0, "")
    assert run("lint", file, "--select", "key-repeated").err == "nothing found; 2 objects judged\n"
    assert run("lint", file, "--select", "key-repeated", "-o", "json").out == "[]\n"
    assert (
        json.loads(run("lint", file, "--select", "key-repeated", "-o", "sarif").out)["runs"][0][
            "results"
        ]
        == []
    )


def test_stdin_is_read(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, MANIFEST)
    status, out, _ = run("lint", "-")
    assert status == 1
    assert "  --> -:22:8: Service/llm/api spec.selector\n" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gone.yaml"], "there is no file gone.yaml"),
        (["-"], "there is no Kubernetes object in the standard input"),
        (["gangform.yaml"], "there is no Kubernetes object in gangform.yaml"),
        (["k8s", "--select", "image-tag-move"], "did you mean image-tag-moves?"),
        (["k8s", "--ignore", "zzz"], "`gangform explain` lists all codes"),
        (["k8s", "--versions", "lws"], "write NAME=VERSION"),
        (["k8s", "--versions", "kueu=0.19"], "did you mean kueue?"),
        (["k8s", "--versions", "lws=ten"], "`ten` is not a version"),
        (["k8s", "-o", "yaml"], "`yaml` is none of table, json, sarif, github"),
        ([], "required"),
    ],
)
def test_wrong_words_are_usage_errors(
    run: Run, file: str, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    stdin(monkeypatch, "# nothing\n")
    status, out, err = run("lint", *words)
    assert (status, out) == (2, "")
    assert said in err


def test_facts_that_are_wrong_have_their_place(run: Run, folder: Path, file: str) -> None:
    (folder / "facts.yaml").write_text("exists:\n  - Sekret/llm/a\n")
    status, out, err = run("lint", file, "--given", "facts.yaml")
    assert (status, out) == (1, "")
    assert "error[object-reference]: " in err
    assert "  --> facts.yaml:2: exists[0]\n" in err


def test_a_rule_that_fails_takes_no_other_with_it(
    run: Run, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Any:
        raise TypeError("no")

    monkeypatch.setitem(RULES, DEGRADES, load()[DEGRADES]._replace(check=fail))
    status, out, err = run("lint", file)
    assert status == 1
    assert f"error[{BREAKS}]" in out
    assert (
        f"a fault in gangform: the rule {DEGRADES} failed on Deployment/llm/r1 (TypeError: no)"
        in err
    )
    with pytest.raises(TypeError):
        run("lint", file, "--debug")


def test_a_file_of_facts_has_a_schema(run: Run) -> None:
    schema = json.loads(run("schema", "given").out)
    assert {"versions", "exists", "domains", "lwsSchedulerProvider", "coldStart"} < set(
        schema["properties"]
    )


def test_a_closed_standard_input_is_missed_only_where_it_is_read(
    run: Run, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert run("lint", file)[0] == 1
    status, _, err = run("lint", "-")
    assert status == 2 and "standard input is closed" in err


def test_a_terminal_is_not_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    status, _, err = run("lint", "-")
    assert status == 2
    assert "pipe something in: `helm template chart | gangform lint -`" in err


def test_facts_that_are_not_there_are_asked_for_wrongly(run: Run, file: str) -> None:
    status, _, err = run("lint", file, "--given", "nofile")
    assert status == 2 and "there is no file nofile" in err


@pytest.mark.parametrize(
    ("references", "said"),
    [
        (["Deployment/llm/r1", "Deployment/r1"], ""),
        (["Deployment/llm/r2"], "nothing judged here has: Deployment/llm/r2\n"),
        (["LeaderWorkerSet/r1"], "nothing judged here has: LeaderWorkerSet/r1\n"),
        ([f"Deployment/a{n}" for n in range(5)], "Deployment/a1, Deployment/a2 and 2 more\n"),
    ],
)
def test_a_cold_start_of_nothing_that_is_judged_is_said(
    run: Run, folder: Path, file: str, references: list[str], said: str
) -> None:
    (folder / "facts.yaml").write_text(json.dumps({"coldStart": dict.fromkeys(references, "21m")}))
    status, _, err = run("lint", file, "--given", "facts.yaml")
    assert status == 1
    assert ("a cold start was given" in err) is bool(said) and said in err
