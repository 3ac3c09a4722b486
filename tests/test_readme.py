"""The README is true: its commands run, its file loads, and what it quotes is what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from gangform.cli import traced
from gangform.cli.commands import COMMANDS, parser
from gangform.cli.main import main
from gangform.cli.selection import Selection
from gangform.inputs.load import load_text
from gangform.synth import synthesise
from gangform.trace.subject import Subject

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)
    return [text for named, text in fences if named == language]


def squeezed(text: str) -> list[str]:
    """Lines with runs of blanks as one, so that a column's width does not matter."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, as a new user would start in."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CDK8S_OUTDIR", raising=False)
    return tmp_path


def test_the_three_commands_make_a_bundle(folder: Path) -> None:
    commands = [line[2:].split() for line in blocks("console")[0].splitlines()]
    assert [words[:2] for words in commands] == [
        ["gangform", "init"],
        ["gangform", "plan"],
        ["gangform", "synth"],
    ]
    for words in commands:
        assert main(words[1:]) == 0
    made = sorted(str(path.relative_to(folder)) for path in folder.glob("dist/**/*.yaml"))
    assert made == ["dist/prod/deepseek-r1.k8s.yaml", "dist/prod/foundation.k8s.yaml"]
    assert all(name in README for name in made)


def test_the_file_is_under_twenty_lines_and_renders_without_a_warning() -> None:
    text = blocks("yaml")[0]
    assert len(text.splitlines()) < 20
    loaded = load_text(text)
    made = synthesise(loaded.fleet, loaded.library)
    assert [file.path for file in made.files] == [
        "prod/deepseek-r1.k8s.yaml",
        "prod/foundation.k8s.yaml",
    ]
    assert made.findings == ()


def test_a_page_says_what_the_readme_says_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gangform.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    block = next(text for text in blocks("console") if "runbook" in text)
    lines = [line[2:].partition("  #")[0].strip() for line in block.splitlines()]
    listed, page, *typed = lines
    assert main(listed.split()[1:]) == 0
    assert "ServingGroupsNotReady" in capsys.readouterr().out
    assert main(page.split()[1:]) == 0
    said = capsys.readouterr().out
    assert len(typed) == 2
    assert all(command in said for command in typed)


def test_what_the_plan_says_is_quoted_right(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gangform.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    assert main(["plan"]) == 0
    said = squeezed(capsys.readouterr().out)
    for first in ("form ", "capacity "):
        quoted = next(block for block in blocks("") if block.startswith(first))
        for line in squeezed(quoted):
            assert line in said


def test_the_choice_of_a_shape_is_quoted_right(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = blocks("yaml")[0]
    written = re.search(r"parallelism: \{.*\}", text)
    assert written is not None
    Path("gangform.yaml").write_text(text.replace(written[0], "parallelism: auto"), "utf-8")
    assert main(["plan"]) == 1
    said = squeezed(capsys.readouterr().out)
    quoted = next(block for block in blocks("") if block.startswith("shape "))
    for line in squeezed(quoted):
        assert line in said
    assert main(["plan", "--pin"]) == 0
    assert Path("gangform.yaml").read_text("utf-8") == text


def test_what_was_measured_is_an_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (measured,) = re.findall(r"`(qualified: \{.*\})`", README)
    text = blocks("yaml")[0].replace("groups: 2", f"groups: 2\n    {measured}")
    Path("gangform.yaml").write_text(text, encoding="utf-8")
    assert main(["plan"]) == 0
    assert "not re-measured: engine 0.32.0, now 0.33.0" in capsys.readouterr().out


def test_a_line_is_explained_as_quoted(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("gangform.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    assert main(["synth"]) == 0
    # What the lines follow takes seconds to find: both questions are about the same ones.
    known: list[tuple[Subject, str]] = []
    found = traced.subjects

    def once(chosen: Selection) -> list[tuple[Subject, str]]:
        known.extend(() if known else found(chosen))
        return known

    monkeypatch.setattr(traced, "subjects", lambda chosen: iter(once(chosen)))
    quoted = next(block for block in blocks("") if block.startswith("size: 2"))
    by_line, by_object = re.findall(r"`gangform explain ((?:dist|Leader)[^`]*)`", README)
    for words in (by_line, by_object):
        capsys.readouterr()
        assert main(["explain", *words.split()]) == 0
        said = squeezed(capsys.readouterr().out)
        assert [line for line in squeezed(quoted)[1:] if line not in said] == []
    assert Path(by_line.partition(":")[0]).read_text().splitlines()[444].strip() == "size: 2"


def test_the_error_is_quoted_right(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["", *blocks("yaml")[0].splitlines()]  # lines are counted from 1
    number = next(n for n, line in enumerate(lines) if "parallelism" in line)
    text = blocks("yaml")[0].replace("pipeline: 2", "pipeline: 1")
    Path("gangform.yaml").write_text(text, encoding="utf-8")
    assert main(["validate"]) == 1
    quoted = next(block for block in blocks("") if block.startswith("error[model"))
    shown = capsys.readouterr().err.strip()
    assert f"gangform.yaml:{number}:" in shown
    assert quoted.strip() == shown


def test_lint_finds_what_is_quoted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/lint").iterdir())
    assert {main(["lint", file]) for file in files} == {0, 1}
    shown = capsys.readouterr().out
    (quoted,) = [block for block in blocks("") if block.startswith("error[service-selects")]
    assert set(quoted.strip().split("\n\n")) <= set(shown.strip().split("\n\n"))
    assert [file for file in files if f"{file}:" not in quoted] == []


def test_the_facts_for_lint_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (facts,) = [block for block in blocks("yaml") if "lwsSchedulerProvider" in block]
    Path("facts.yaml").write_text(facts, encoding="utf-8")
    Path("a.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n")
    assert main(["lint", "a.yaml", "--given", "facts.yaml"]) == 0
    (versions,) = re.findall(r"`(--versions \S+)`", README)
    assert main(["lint", "a.yaml", *versions.split()]) == 0


def test_commands_in_pipelines_are_called_rightly() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (used,) = [
        repo["hooks"]
        for block in blocks("yaml")
        if "hooks:" in block
        for repo in yaml.safe_load(block)["repos"]
    ]
    entries = {hook["id"]: hook["entry"].split() for hook in hooks}
    commands = [[*entries[hook["id"]], *hook.get("args", ["."])] for hook in used[1:]]
    commands += [entries["gangform-synth"]]
    commands += [
        line.split(" > ")[0].split()
        for block in blocks("yaml")
        for line in re.findall(r"(?:- |run: |^ +)(gangform [a-z]+ .*)$", block, re.M)
    ]
    assert len(commands) == 8
    for words in commands:
        assert words[0] == "gangform"
        assert words[1] in COMMANDS or words[1] == "diff"
        if words[1] in COMMANDS:
            parser().parse_args(words[1:])


def test_the_prices_are_quoted_right(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = blocks("yaml")[0]
    said = []
    for version in (
        text,
        text.replace("context: 32768", "context: 65536"),
        text.replace("context: 32768", "context: 65536").replace("name: deepseek-r1", "name: r1"),
    ):
        Path("gangform.yaml").write_text(version, encoding="utf-8")
        main(["synth"])
        said.append(capsys.readouterr().err)
    assert said[0] == ""
    assert f"```\n{said[1]}```\n" in README
    error = said[2][said[2].index("error[") :].split("\n\n")[0]
    assert f"```\n{error}\n```\n" in README


def test_every_local_link_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_table_of_codes_is_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-o", "markdown"]) == 0
    table = capsys.readouterr().out
    kept = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    assert table in kept, "run `gangform explain -o markdown` and put its table into docs/codes.md"
