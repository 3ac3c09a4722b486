"""A stream of manifests read in pieces is what it is in one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.documents.document import leaves
from gangform.documents.read import SourceDocument, cut, read_manifests

PIECES = ["---", "---\n", "\n---\n", "\r\n--- \r\n", "\r", "\n", "kind: A\n", "a: [\n", "{}\n", "{"]
PIECES += [
    "\ufeff",
    "%YAML 1.1\n",
    "...\n",
    "# no\n",
    "x: &a 1\n",
    "y: *a\n",
    "---x\n",
    "a: |\n",
    " b\n",
]


def seen(document: SourceDocument) -> object:
    places = document.places
    spans = [places.key(path) for path, _ in leaves(document.manifest)]
    return document.manifest, document.findings, document.remarks, places.key(()), spans


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.integers(0, 40))
def test_in_pieces_it_is_the_same(text: str, least: int) -> None:
    cuts = list(cut(text, least))
    assert "".join(part for part, _ in cuts) == text
    apart = [one for part, line in cuts for one in read_manifests(part, "f.yaml", line)]
    assert list(map(seen, apart)) == list(map(seen, read_manifests(text, "f.yaml")))


def test_a_large_stream_is_cut() -> None:
    text = "---\n".join(["kind: A\nmetadata: {name: x}\n"] * 100)
    cuts = list(cut(text, 500))
    assert len(cuts) > 4
    assert [line for _, line in cuts] == sorted({line for _, line in cuts})
    json = "{\n" + text
    assert list(cut(json, 500)) == [(json, 0)]
