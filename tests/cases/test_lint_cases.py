"""The handed cases, as a user would run them: every expected line is reported, and nothing else is bad.

A file begins with what has to be found, `idea at Kind/name path severity`, and with what it cannot say itself. Ideas
are no codes: the place and the severity count.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gangform.cli.main import main

FILES = {path.stem: path for path in sorted(Path(__file__).with_name("lint").glob("*.yaml"))}
STOCK = "vllm=0.33,kubernetes=1.34,lws=0.10"
QUEUED = f"{STOCK},kueue=0.19"


class Given(NamedTuple):
    """What `# given:` says, in our words."""

    versions: str = ""
    facts: str = ""


GIVEN = {
    "h01": Given(STOCK),
    "h03": Given(QUEUED),
    "h05": Given("kueue=0.19", "exists: [LocalQueue/sandbox/cpu-shared]"),
    "h06": Given(QUEUED, "exists: [LocalQueue/pd-serving/gpu-serving]"),
    "h09": Given(STOCK),
    "h10": Given(STOCK),
    "h12": Given(STOCK),
    "h13": Given("sglang=0.5.23,lws=0.10", "domains: {example.net/node-pool: 2}"),
    "h14": Given("lws=0.10"),
    "h17": Given(STOCK),
    "h21": Given(STOCK),
    "h23": Given(STOCK),
    "h24": Given(STOCK, "coldStart: {LeaderWorkerSet/inference/feldspar: 14m}"),
    "h32": Given(STOCK),
    "h33": Given(STOCK, "coldStart: {DisaggregatedSet/pd-serving/ember: 25m}"),
    "h34": Given("lws=0.10"),
    "h36": Given("lws=0.5.1,volcano=1.11", "lwsSchedulerProvider: none"),
    "h37": Given("vllm=0.10.2"),
    "r09": Given(STOCK),
    "r12": Given(STOCK),
    "r13": Given(STOCK),
    "r18": Given(STOCK, "coldStart: {LeaderWorkerSet/inference/atlas: 21m}"),
    "r20": Given(QUEUED),
    "r22": Given("sglang=0.5.23"),
    "r24": Given(STOCK),
    "r28": Given(STOCK),
    "r30": Given("lws=0.10"),
    "r32": Given(STOCK),
}
"""By the first word of the file's name; a file without a row is given nothing that a flag could say."""

NOT_YET: frozenset[str] = frozenset(
    {"h01", "h06", "h13", "h14", "h15", "h23", "h24", "h33", "h36"}
    | {"r11", "r13", "r18", "r22", "r34", "r38"}
)
"""Files of whose expected lines some are not found yet."""


def expected(text: str) -> set[tuple[str, str, str]]:
    """Object, path and severity of each finding that a file expects."""
    return set(re.findall(r"^# expect: \S+ at (\S+) (\S+) (\w+)$", text, re.M))


def lint(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    given = GIVEN.get(name.split("-")[0], Given())
    words = ["lint", str(FILES[name]), "-o", "json"]
    if given.versions:
        words += ["--versions", given.versions]
    if given.facts:
        (folder / "given.yaml").write_text(given.facts)
        words += ["--given", str(folder / "given.yaml")]
    status = main(words)
    captured = capsys.readouterr()
    found: list[dict[str, Any]] = json.loads(captured.out)
    assert status == any(each["severity"] == "breaks" for each in found)
    assert "a fault in gangform" not in captured.err
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True))
        if name.split("-")[0] in NOT_YET
        else name
        for name in FILES
    ],
)
def test_a_case_is_judged_as_it_says(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = expected(FILES[name].read_text(encoding="utf-8"))
    found = {
        (each["object"], each["path"], each["severity"]): each["code"]
        for each in lint(name, tmp_path, capsys)
    }
    assert sorted(wanted - set(found)) == []
    assert {place: found[place] for place in set(found) - wanted if place[2] != "style"} == {}


@pytest.mark.parametrize("name", FILES)
def test_a_finding_stands_where_its_field_does(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As PyYAML's own composer has it, which our reader does not use."""
    objects = {}
    for node in yaml.compose_all(FILES[name].read_text(encoding="utf-8")):
        plain = yaml.SafeLoader("").construct_document(node)
        objects[f"{plain['kind']}/{plain['metadata']['name']}"] = node
    for each in lint(name, tmp_path, capsys):
        assert (each["line"], each["column"]) == place(objects[each["object"]], each["path"])


def place(node: yaml.Node, path: str) -> tuple[int, int]:
    """Line and column of a field; of one that is missing, those of the nearest thing around it."""
    mark = node.start_mark
    for dotted, bracketed in re.findall(r"([^.\[\]]+)|\[([^\]]+)\]", path):
        part = dotted or bracketed
        if isinstance(node, yaml.MappingNode):
            inner = [(key.start_mark, value) for key, value in node.value if key.value == part]
        else:
            inner = [
                (item.start_mark, item)
                for index, item in enumerate(node.value)
                if part == str(index) or part == field(item, "name")
            ]
        if not inner:
            break
        mark, node = inner[0]
    return mark.line + 1, mark.column + 1


def field(node: yaml.Node, name: str) -> str | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value.value for key, value in pairs if key.value == name), None)
