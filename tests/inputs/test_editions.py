"""Editions of the defaults: the first one stays as it is, and a new one changes its own rows and nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
import yaml

from gangform.documents.document import leaves
from gangform.findings import InputError, show_path
from gangform.inputs.defaults import EDITIONS, Change, defaults, editions, following
from gangform.inputs.load import load_fleet, load_text
from gangform.inputs.reference import rows_of
from gangform.synth import Synthesis, synthesise
from gangform.units import Seconds

ROOT = Path(__file__).parents[2]
GOLDENS = Path(__file__).parent / "editions"
FREE = dict.fromkeys(("ConfigMap", "PodMonitor", "PrometheusRule"), "name-only")
"""Kinds (a ConfigMap is a dashboard) of which only the name is kept, and what their rows say in the place of a digest.

Their texts may get better without a new edition: nothing that runs changes with them.
"""
RULE = (
    "Fleets run on `defaults: 1`, and a change of it rolls groups that nobody touched. A better default is a row of a "
    "new edition (docs/editions.md). If a fault was mended, or the shipped fleet was changed on purpose, say so in "
    "CHANGELOG.md under *Manifest changes*, and write the golden anew: `python -m tests.inputs.test_editions`"
)


def table(edition: int) -> str:
    """Every row of an edition, as its golden has it."""
    return "".join(f"{one.row}\t{one.value}\n" for one in rows_of(edition))


def promised() -> str:
    """What the shipped fleet, which names the first edition, promises to keep: names and specs of its objects."""
    lines = []
    for path in sorted((ROOT / "dist").rglob("*.k8s.yaml")):
        for one in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            kept = {k: v for k, v in one.items() if k != "metadata"}
            whole = hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]
            digest = FREE.get(one["kind"], whole)
            meta = one["metadata"]
            name = "/".join(
                part for part in (one["kind"], meta.get("namespace", ""), meta["name"]) if part
            )
            lines.append(f"{digest}\t{path.parent.name}\t{name}\n")
    return "".join(lines)


LOADED = load_fleet(ROOT / "gangform.yaml")


def shipped(edition: int) -> Synthesis:
    """The shipped fleet under an edition."""
    return synthesise(LOADED.fleet.model_copy(update={"defaults": edition}), LOADED.library)


def values(made: Synthesis) -> dict[tuple[str, str, str], object]:
    return {
        (file.path, str(document.key), show_path(path)): value
        for file in made.files
        for document in file.bundle.documents
        for path, value in leaves(document.manifest)
    }


def test_the_rows_of_the_first_edition_never_change() -> None:
    assert table(1) == (GOLDENS / "1-rows.tsv").read_text(), RULE


def test_what_the_first_edition_makes_of_the_shipped_fleet_never_changes() -> None:
    assert LOADED.fleet.defaults == 1
    assert promised() == (GOLDENS / "1-fleet.tsv").read_text(), RULE


def test_every_row_of_every_edition_has_a_reason() -> None:
    assert [one.row for number in editions() for one in rows_of(number) if not one.reason] == []


def test_a_new_edition_changes_its_rows_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = following(
        EDITIONS[1],
        Change("liveness_timeout", Seconds(20), "a toy is slow"),
        Change("alerts.pending", Seconds(2400), "a toy is patient"),
    )
    monkeypatch.setitem(EDITIONS, 2, toy)
    assert editions() == (1, 2)
    assert [one for one in rows_of(2) if one.edition == 2] == [
        ("liveness_timeout", "20s", 2, "a toy is slow"),
        ("alerts.pending", "40m", 2, "a toy is patient"),
    ]
    before, after = values(shipped(1)), values(shipped(2))
    assert list(before) == list(after)
    changed = {
        (key[2].rpartition(".")[2], before[key], after[key])
        for key in before
        # The text of an alert says the time too.
        if before[key] != re.sub(r" for 40m\b", " for 30m", str(after[key]))
        and before[key] != after[key]
    }
    assert changed == {("timeoutSeconds", 10, 20), ("for", "30m", "40m")}
    # The first edition is what it was.
    assert table(1) == (GOLDENS / "1-rows.tsv").read_text()


def test_nothing_reads_another_edition_than_the_fleets(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [file.content for file in shipped(1).files]
    monkeypatch.setitem(EDITIONS, 2, EDITIONS[1]._replace(edition=2))
    monkeypatch.delitem(EDITIONS, 1)
    made = shipped(2)
    assert [file.content for file in made.files] == expected
    assert {plan.defaults.edition for plan in made.plans} == {2}


@pytest.mark.parametrize(
    "change",
    [
        Change("drains", Seconds(1), "no such row"),
        Change("alerts.drain", Seconds(1), "no such row of alerts"),
        Change("nowhere.drain", Seconds(1), "no such table"),
        Change("drain", 61, "another type"),
        Change("drain", EDITIONS[1].drain, "the same"),
        Change("drain", Seconds(61), ""),
        Change("edition", 2, "the number is not a row"),
        Change("alerts", EDITIONS[1].alerts._replace(rebuilds=3), "a whole table"),
    ],
)
def test_a_change_that_is_none_is_refused(change: Change) -> None:
    with pytest.raises(ValueError, match="is no change of a row"):
        following(EDITIONS[1], change)


def test_a_later_change_of_a_row_wins() -> None:
    second = following(EDITIONS[1], Change("alerts.pending", Seconds(2400), "patient"))
    third = following(second, Change("alerts.blind", Seconds(60), "eager"))
    assert (third.edition, third.alerts.pending, third.alerts.blind) == (3, 2400, 60)
    assert second.alerts.blind == EDITIONS[1].alerts.blind


FLEET = """\
version: 1
defaults: {edition}
cluster:
  name: a
  versions: {{kubernetes: "1.36"}}
  foundation: existing
  pools: {{h100: {{hardware: h100-8x}}}}
"""


def test_an_unknown_edition_is_refused_where_it_is_written() -> None:
    assert load_text(FLEET.format(edition=1)).fleet.defaults == 1
    with pytest.raises(InputError) as caught:
        load_text(FLEET.format(edition=7))
    (finding,) = caught.value.findings
    assert finding.code.id == "edition-unknown"
    assert finding.at.path == ("defaults",)
    assert finding.what == "there is no edition 7 of the defaults; this release knows 1"
    assert finding.fix == "write `defaults: 1`, or install a newer gangform"
    with pytest.raises(InputError, match="edition-unknown"):
        defaults(0)


if __name__ == "__main__":
    (GOLDENS / "1-rows.tsv").write_text(table(1))
    (GOLDENS / "1-fleet.tsv").write_text(promised())
