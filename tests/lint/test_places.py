"""A finding stands at its very field, however the file is written."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gangform.documents.document import Manifest
from gangform.lint.objects import named_path
from gangform.lint.report import Report

Run = Callable[..., Report]

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: a
  annotations:
    example.net/a.b: "x"
    example.net/bad key: y
  labels: {fine: "1", "worse key": "2"}
"""


def places(run: Run, text: str | bytes) -> dict[str, tuple[int, int]]:
    """Line and column by path, of labels and annotations that are refused."""
    report = run("-", stdin=text if isinstance(text, bytes) else text.encode())
    return {
        each.path: (each.span.line, each.span.column)
        for each in report.findings
        if each.finding.code.id == "metadata-refused"
    }


EXPECTED = {
    "metadata.annotations[example.net/bad key]": (7, 5),
    "metadata.labels[worse key]": (8, 23),
}


@pytest.mark.parametrize(
    "text",
    [
        SERVICE,
        SERVICE.replace("\n", "\r\n"),
        "\ufeff" + SERVICE,
        SERVICE.replace("name: a", "name:\ta"),
        SERVICE.replace('"x"', '"Ünïcödé 𝛼"').replace("fine: ", "fïne:").replace('"1"', ' "1"'),
    ],
    ids=["plain", "crlf", "bom", "tab", "unicode"],
)
def test_keys_with_dots_and_flow_maps_have_their_place(run: Run, text: str) -> None:
    found = places(run, text)
    found = {path: place for path, place in found.items() if path in EXPECTED}
    assert found == EXPECTED


def test_json_has_places_too(run: Run) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "annotations": {"x": "😀\\u", "bad key": "y"}},
    }
    path = "metadata.annotations[bad key]"
    for ascii_ in (True, False):
        text = json.dumps(manifest, indent="\t", ensure_ascii=ascii_)
        assert places(run, text)[path] == (8, 4)
    flat = json.dumps(manifest, ensure_ascii=False)
    assert places(run, flat)[path] == (1, flat.index('"bad key"') + 1)


def test_documents_later_in_a_stream_count_on(run: Run) -> None:
    stream = f"# a\n---\n{SERVICE}---\n\n{SERVICE.replace('name: a', 'name: b')}"
    report = run("-", stdin=stream.encode())
    assert [(each.span.line, each.name) for each in report.findings] == [
        (9, "a"),
        (10, "a"),
        (19, "b"),
        (20, "b"),
    ]


def test_what_stands_behind_an_alias_has_the_place_of_its_anchor(run: Run) -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  labels: &labels
    bad key: x
spec:
  template:
    metadata: {labels: *labels, annotations: {<<: *labels}}
    spec: {containers: []}
"""
    found = places(run, text)
    assert found["metadata.labels[bad key]"] == (6, 5)
    assert found["spec.template.metadata.labels[bad key]"] == (6, 5)
    assert found["spec.template.metadata.annotations[bad key]"] == (6, 5)


def test_an_alias_itself_has_the_place_where_it_is_used(run: Run) -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  annotations: {text: &wrong 5}
spec:
  template:
    metadata:
      annotations:
        note: *wrong
    spec: {containers: []}
"""
    assert places(run, text)["spec.template.metadata.annotations.note"] == (10, 9)


def test_a_field_that_is_missing_has_the_place_of_what_is_around(run: Run) -> None:
    report = run(
        "-", stdin=b"apiVersion: v1\nkind: Service\nmetadata:\n  labels: {a: b}\nspec: {}\n"
    )
    (finding,) = [one for one in report.findings if one.finding.code.id == "object-malformed"]
    assert (finding.path, finding.span.line, finding.span.column) == ("metadata.name", 3, 1)


def test_entries_are_called_by_name_where_people_do() -> None:
    container: Manifest = {
        "name": "engine",
        "env": [{"name": "A"}, {"value": "x"}],
        "ports": [{"name": "http"}],
        "volumeMounts": [{"name": "m"}],
    }
    manifest: Manifest = {
        "spec": {
            "roles": [{"name": "prefill"}],
            "volumes": [{"name": "shm"}, "odd"],
            "containers": [container],
            "initContainers": [{"name": 5}],
            "args": ["x"],
        }
    }
    for path, shown in (
        (("spec", "roles", 0, "spec"), "spec.roles[prefill].spec"),
        (("spec", "volumes", 0), "spec.volumes[shm]"),
        (("spec", "volumes", 1, "x"), "spec.volumes[1].x"),
        (("spec", "volumes", 7, "x"), "spec.volumes[7].x"),
        (("spec", "containers", 0, "env", 0, "value"), "spec.containers[engine].env[A].value"),
        (("spec", "containers", 0, "env", 1), "spec.containers[engine].env[1]"),
        (("spec", "containers", 0, "ports", 0, "name"), "spec.containers[engine].ports[0].name"),
        (("spec", "containers", 0, "volumeMounts", 0), "spec.containers[engine].volumeMounts[m]"),
        (("spec", "initContainers", 0), "spec.initContainers[0]"),
        (("spec", "args", 0), "spec.args[0]"),
        (("metadata", "annotations", "a.b/c"), "metadata.annotations[a.b/c]"),
        ((), ""),
    ):
        assert named_path(manifest, path) == shown
