"""The page as a whole: structure, links, escaping, the same bytes twice, and the figures of the plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.report.conftest import Made
from tests.report.reading import Element, read, table

from gangform.bundle import judge_bundles
from gangform.cli.main import main
from gangform.inputs.load import load_fleet
from gangform.plan.loss import table as loss_table
from gangform.report import losses
from gangform.synth import bundles_of, plan_fleet

ROOT = Path(__file__).parents[2]

HARD = """\
version: 1
defaults: 1
cluster:
  name: edge
  versions: {kubernetes: "1.36", lws: "0.10"}
  foundation: existing
  pools:
    h100:
      hardware: h100-8x
      levels: [rack, kubernetes.io/hostname]
      domains: [{at: [r0], nodes: 3}]
servings:
  - name: large
    namespace: llm
    model: deepseek-r1
    pool: h100
    engine: {name: vllm, version: "0.33.0"}
    parallelism: {tensor: 8, pipeline: 1}
    groups: 2
    context: 65536
    fit: {accepted: "<script>alert(1)</script> & 'so' \\"on\\""}
    admission: {backend: none}
"""
"""One that does not fit, and somebody's words about it."""


def anchors(root: Element) -> list[str]:
    every = [*_all(root)]
    return [one.attributes["id"] or "" for one in every if "id" in one.attributes]


def _all(element: Element) -> list[Element]:
    here = [child for child in element.children if isinstance(child, Element)]
    return [*here, *(below for child in here for below in _all(child))]


def test_the_same_inputs_give_the_same_bytes(shipped: Path, tmp_path: Path) -> None:
    main(["report", "-f", str(ROOT / "gangform.yaml"), "--to", str(tmp_path / "again.html")])
    assert (tmp_path / "again.html").read_bytes() == shipped.read_bytes()


def test_every_anchor_is_there_once_and_every_link_leads_to_one(shipped: Path) -> None:
    root = read(shipped.read_text("utf-8"))
    there = anchors(root)
    assert len(there) == len(set(there))
    targets = [one.attributes["href"] or "" for one in root.all("a")]
    assert len(targets) > 100
    assert {target.removeprefix("#") for target in targets} <= set(there)
    assert all(target.startswith("#") for target in targets)


def test_nothing_is_asked_for_from_outside(shipped: Path) -> None:
    text = shipped.read_text("utf-8")
    root = read(text)
    assert not [one for name in ("script", "img", "iframe", "object") for one in root.all(name)]
    assert [one.attributes["href"] for one in root.all("link")] == ["data:,"]
    assert not re.search(r"@import|url\((?!#)", text)
    assert "default-src 'none'" in text


def test_every_picture_has_a_title_and_a_description(shipped: Path) -> None:
    root = read(shipped.read_text("utf-8"))
    pictures = [one for one in root.all("svg") if one.attributes.get("role") == "img"]
    assert len(pictures) > 30
    for one in pictures:
        title, description = (one.attributes["aria-labelledby"] or "").split()
        named = {child.attributes.get("id"): child for child in _all(one)}
        assert named[title].text and named[description].text
    others = [one for one in root.all("svg") if one not in pictures]
    assert {one.attributes.get("aria-hidden") for one in others} == {"true"}


def test_words_of_users_are_no_markup(made: Made) -> None:
    text = made(HARD)
    root = read(text)
    assert not list(root.all("script"))
    assert "alert(1)" in root.text
    assert "<script>alert(1)</script> & 'so' \"on\"" in root.text
    assert "<script" not in text


def test_verdicts_and_losses_are_those_of_the_plan(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = read(shipped.read_text("utf-8"))
    loaded = load_fleet(ROOT / "gangform.yaml")
    plans = plan_fleet(loaded.fleet, loaded.library)
    rows = table(root, "Verdicts")
    assert [row[0] for row in rows] == [one.name for plan in plans for one in plan.servings]
    assert {row[2] for row in rows} == {"✓ fits"}
    main(["plan", "-f", str(ROOT / "gangform.yaml"), "-o", "json"])
    data = json.loads(capsys.readouterr().out)
    listed = [one for cluster in data["clusters"] for one in cluster["servings"]]
    assert [row[1] for row in rows] == [c["name"] for c in data["clusters"] for _ in c["servings"]]
    for row, one in zip(rows, listed, strict=True):
        gpus = one["groups"]["highest"] * one["shape"]["gpusPerGroup"]
        assert row[5].split(",")[0] == str(gpus)
    for number, plan in enumerate(plans):
        expected = [
            [losses.places(row.names), *losses.cells(loss)]
            for row in loss_table(plan)
            for loss in row.losses
        ]
        assert table(root, "What is lost with it", number) == expected


def test_every_object_of_the_bundle_is_there(shipped: Path) -> None:
    root = read(shipped.read_text("utf-8"))
    loaded = load_fleet(ROOT / "gangform.yaml")
    for plan in plan_fleet(loaded.fleet, loaded.library):
        made, faults = bundles_of(plan)
        assert not faults and not judge_bundles(made, plan.cluster)
        for bundle in made:
            if not bundle.documents:
                continue
            rows = table(root, f"{plan.cluster.name}/{bundle.name}.k8s.yaml")
            assert [row[0] for row in rows] == [
                f"{one.kind} {'/'.join(part for part in one.key[2:] if part)}"
                for one in bundle.documents
            ]


def test_a_fleet_with_errors_has_a_page_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.yaml").write_text(HARD.replace("    fit:", "    #"))
    target = tmp_path / "r.html"
    assert main(["report", "-f", str(tmp_path / "f.yaml"), "--to", str(target)]) == 1
    assert "1 error" in capsys.readouterr().err
    root = read(target.read_text("utf-8"))
    (first, *_) = table(root, "Findings")
    assert first[0] == "error: model-does-not-fit"
    assert "servings[0]" in first[1]
    assert table(root, "Verdicts")[0][2] == "✕ does not fit"
    assert "Nothing would be written" in root.text


def test_servings_and_clusters_are_chosen_as_for_the_plan(made: Made) -> None:
    root = read(made(None, "llama-405b", "--cluster", "prod-kueue"))
    assert [row[0] for row in table(root, "Verdicts")] == ["llama-405b"]
    assert {row[1] for row in table(root, "What is lost with it")} == {"llama-405b"}
    assert "qwen3-235b" not in root.text
    captions = [caption.text for caption in root.all("caption")]
    assert "prod-kueue/llama-405b.k8s.yaml" in captions
    assert "prod-kueue/foundation.k8s.yaml" not in captions


def test_the_page_is_printed_where_it_is_asked_for(
    shipped: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["report", "-f", str(ROOT / "gangform.yaml"), "--to", "-"]) == 0
    assert capfdbinary.readouterr().out == shipped.read_bytes()


def test_a_page_replaces_a_page_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "f.yaml"
    fleet.write_text(HARD)
    assert main(["report", "-f", str(fleet), "--to", str(fleet)]) == 2
    assert "no report of gangform" in capsys.readouterr().err
    assert fleet.read_text() == HARD
    assert main(["report", "-f", str(fleet), "--to", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    target = tmp_path / "r.html"
    for _ in range(2):
        assert main(["report", "-f", str(fleet), "--to", str(target)]) == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["f.yaml", "r.html"]
    assert main(["report", "-f", str(fleet), "--to", str(tmp_path / "no" / "r.html")]) == 3


def test_a_fleet_without_servings_has_a_page(made: Made) -> None:
    root = read(made(HARD.split("servings:")[0] + "servings: []\n"))
    assert "see the findings" not in root.text
    assert "Counted from" not in root.text
    assert table_titles(root) == []


def table_titles(root: Element) -> list[str]:
    return [caption.text for caption in root.all("caption")]
