"""The emitter against cdk8s itself: the same bytes for random documents full of awkward texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from gangform.documents.emit import EmitError, emit

pytestmark = pytest.mark.node

AWKWARD = [
    "yes",
    "No",
    "on",
    "null",
    "~",
    "1_0",
    "017",
    "0x1F",
    "0b1",
    "1e5",
    "e5",
    ".5",
    "5.",
    "1:30",
    "1:30.5",
    "2026-10-31",
    "2026-10-31T10:00:00Z",
    "--flag",
    "8Gi",
    "100m",
    "it's",
    "a:",
    "-",
    "?",
    "---",
    "...",
    ".",
    "+",
    ".inf",
    ".nan",
    "+.inf",
    "y",
    "n",
    "NULL",
    "True",
    "$(VAR)",
    "{{x}}",
    "@x",
    "`x`",
    "%x",
    "&x",
    "*x",
    "!x",
    ">x",
    "|x",
    "[x]",
    ",x",
    "#x",
    "a#b",
    "a:b",
    "é漢🎉",
]
BLANKED = [
    "",
    " ",
    "a: b",
    "a #b",
    "- x",
    "? x",
    'say "x"',
    "a ",
    " a",
    "a\tb",
    "x" * 2600,
    "\t",
    "a:\tb",
    '"',
    "'",
]
LINES = [
    "a\nb\n",
    "a\nb",
    "a\n\n",
    "\na\n",
    " a\nb",
    "a \nb",
    "a\n ",
    "\n",
    "\n\n",
    "a\n  b\n \n",
    "a\r\nb",
    "\n \na",
]
PIECES = [
    *"ab10-+._:# \n\t\"'\\xe{}[],&*!|>%@`?=<~é\r\x00\x1b\x07\b",
    "\n",
    "🎉",
    "\xa0",
    "null",
    "0o",
    "---",
    "...",
]


class Fuzz:
    """Random manifests, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        """One awkward text as a whole, or one glued from pieces."""
        if self.random.random() < 0.4:
            return self.random.choice(self.random.choice([AWKWARD, BLANKED, LINES]))
        count = self.random.choice([1, 2, 3, 5, 8, 20, 60])
        return "".join(self.random.choices(PIECES, k=count))

    def map(self, depth: int) -> dict[str, Any]:
        """A map whose keys are mostly ordinary ones, some like list indexes."""
        usual = ["name", "spec", "args", "10", "9", "01", "4294967294", "4294967295", "n"]
        count = self.random.choice([0, 1, 2, 3, 5])
        keys = [
            self.text() if self.random.random() < 0.3 else self.random.choice(usual)
            for _ in range(count)
        ]
        return {key: self.node(depth - 1) for key in keys}

    def node(self, depth: int) -> Any:
        """Any value that a manifest may hold."""
        kind = self.random.random()
        if depth <= 0 or kind < 0.5:
            return self.text()
        if kind < 0.65:
            return self.random.choice([True, False, 0, -1, 8000, 2**53 - 1])
        if kind < 0.82:
            return [self.node(depth - 1) for _ in range(self.random.choice([0, 1, 2, 4]))]
        return self.map(depth)


def accepted(fuzz: Fuzz, count: int) -> list[tuple[dict[str, Any], bytes]]:
    """So many random bodies that the emitter does not refuse, with what it writes."""
    kept: list[tuple[dict[str, Any], bytes]] = []
    while len(kept) < count:
        body = fuzz.map(5)
        body.pop("metadata", None)
        try:
            kept.append((body, emit([body])))
        except EmitError:
            continue
    return kept


def test_random_documents_have_the_bytes_of_cdk8s() -> None:
    import cdk8s

    for seed in range(8):
        for body, content in accepted(Fuzz(seed), 100):
            assert content.decode() == cdk8s.Yaml.stringify(body), f"seed {seed}: {body!r}"


def test_a_stream_of_documents_has_the_bytes_of_cdk8s() -> None:
    import cdk8s

    bodies = [body for body, _ in accepted(Fuzz(100), 40)]
    assert emit(bodies).decode() == cdk8s.Yaml.stringify(*bodies)


def test_whole_objects_have_the_bytes_of_synth(tmp_path: Path) -> None:
    import cdk8s

    app = cdk8s.App(outdir=str(tmp_path))
    chart = cdk8s.Chart(app, "parity")
    manifests: list[dict[str, Any]] = []
    for index, (body, _) in enumerate(accepted(Fuzz(200), 60)):
        labels = dict.fromkeys(body, "x") | {
            "b": "1",
            "a": "2",
            "9": "n",
            "10": "m",
            "\ue000": "",
            "🎉": "",
        }
        metadata = {
            "namespace": "llm",
            "name": f"n{index}",
            "labels": labels,
            "annotations": {},
            "finalizers": [],
        }
        owner = {"uid": "u", "name": "o", "kind": "K", "apiVersion": "v1"}
        given = metadata | {
            "owner_references": [owner],
            "annotations": {"empty": ""} if index % 2 else {},
        }
        made = cdk8s.ApiObject(chart, f"o{index}", api_version="v1", kind="K", metadata=given)
        made.add_json_patch(cdk8s.JsonPatch.add("/spec", body))
        del given["owner_references"]
        manifest = {
            "spec": body,
            "metadata": given | {"ownerReferences": [owner]},
            "kind": "K",
            "apiVersion": "v1",
        }
        manifests.append(manifest)
    app.synth()
    assert emit(manifests) == (tmp_path / "parity.k8s.yaml").read_bytes()
