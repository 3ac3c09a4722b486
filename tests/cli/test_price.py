"""What `synth` says of a change before it writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.change import IMAGE, NEWER, change

Run = Callable[..., Any]


def test_the_first_synth_has_no_price_and_an_unchanged_one_none(run: Run) -> None:
    assert run("synth").err == ""
    assert run("synth").err == ""


def test_synth_says_the_price_before_it_writes(run: Run, folder: Path) -> None:
    run("synth")
    change(folder, IMAGE, NEWER)
    checked = run("synth", "--check")
    assert checked.status == 1
    ran = run("synth")
    assert ran.status == 0
    assert ran.err == (
        "LeaderWorkerSet/llm/r1: rolls 2 groups (+0 GPUs while it lasts, at least 1 serving, ~35 min): "
        "{leader,worker}Template.spec.terminationGracePeriodSeconds, "
        "{leader,worker}Template.spec.containers[engine].image and 2 more\n"
    )
    assert checked.err.startswith(ran.err)
    assert run("synth", "--stdout").err == ""


def test_synth_makes_nothing_anew_without_leave(run: Run, folder: Path) -> None:
    run("synth")
    before = (folder / "dist/prod/r1.k8s.yaml").read_bytes()
    change(folder, "name: r1", "name: r2")
    status, out, err = run("synth")
    assert (status, out) == (1, "")
    assert "error[recreates-groups]: the change recreates 2 groups (32 GPUs)" in err
    assert "--allow-recreate r2" in err
    assert err.endswith("1 error; nothing was written\n")
    assert (folder / "dist/prod/r1.k8s.yaml").read_bytes() == before
    assert not (folder / "dist/prod/r2.k8s.yaml").exists()
    assert run("synth", "--allow-recreate", "other").status == 1
    assert run("synth", "--allow-recreate", "r2").status == 0
    assert (folder / "dist/prod/r2.k8s.yaml").exists()


def test_a_new_and_a_removed_serving_are_no_renaming(run: Run, folder: Path) -> None:
    run("synth")
    text = (folder / "gangform.yaml").read_text()
    at = text.index("  - name: small")
    (folder / "gangform.yaml").write_text(text[:at])
    assert "Deployment/llm/small: removed: 2 groups, 2 GPUs" in run("synth").err
    (folder / "gangform.yaml").write_text(text)
    assert "Deployment/llm/small: new: 2 groups, 2 GPUs" in run("synth").err


def test_output_that_cannot_be_read_has_no_price(run: Run, folder: Path) -> None:
    run("synth")
    file = folder / "dist/prod/r1.k8s.yaml"
    text = file.read_text()
    file.write_text(f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n")
    ran = run("synth")
    assert ran.status == 0
    assert "prod/r1.k8s.yaml: it cannot be read" in ran.err
    assert file.read_text() == text
