"""`init`, `profiles`, `schema`, `completion`, and the public names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]
INIT = ("init", "--model", "deepseek-r1", "--hardware", "h100-8x")


# ── init ─────────────────────────────────────────────────────────────────────────────────────────


def test_init_writes_a_fleet_that_synthesises(run: Run, folder: Path) -> None:
    (folder / "gangform.yaml").unlink()
    status, out, err = run(*INIT)
    assert (status, err) == (0, "")
    assert out.startswith("wrote gangform.yaml\nnext:\n  gangform plan ")
    assert run("synth").status == 0
    assert (folder / "dist/prod/deepseek-r1.k8s.yaml").exists()


def test_init_takes_what_it_is_told(run: Run, folder: Path) -> None:
    options = {
        "--groups": "3",
        "--admission": "none",
        "--cluster": "lab",
        "--namespace": "team",
        "--name": "r1-of-ours",
        "--engine-version": "0.31.0",
        "-f": "other.yaml",
    }
    words = [word for pair in options.items() for word in pair]
    status, out, _ = run(*INIT, *words)
    assert status == 0
    assert "gangform plan -f other.yaml" in out
    written = yaml.safe_load((folder / "other.yaml").read_text())
    (serving,) = written["servings"]
    assert written["cluster"]["name"] == "lab"
    assert (serving["name"], serving["namespace"]) == ("r1-of-ours", "team")
    assert (serving["groups"], serving["admission"]["backend"]) == (3, "none")
    assert serving["engine"]["version"] == "0.31.0"


@pytest.mark.parametrize(
    ("model", "hardware", "written", "said"),
    [
        ("llama-3.1-8b", "h100-8x", "{tensor: 1}", "1 GPU a group"),
        ("llama-3.1-405b", "h200-8x", "{tensor: 8}", "8 GPUs a group"),
        ("deepseek-r1", "h100-8x", "{tensor: 8, pipeline: 2}", "16 GPUs on 2 nodes a group"),
    ],
)
def test_init_takes_the_shape_that_auto_would(
    run: Run, folder: Path, model: str, hardware: str, written: str, said: str
) -> None:
    assert run("init", "--force", "--model", model, "--hardware", hardware).status == 0
    file = folder / "gangform.yaml"
    text = file.read_text()
    assert re.search(rf"parallelism: {re.escape(written)} +# {said}:", text)
    file.write_text(text.replace(written, "auto"))
    assert f"it would be {written}" in run("validate").err


def test_init_takes_the_shape_that_holds_what_is_asked_for(run: Run, folder: Path) -> None:
    words = ("--force", "--context", "65536", "--concurrency")
    seen = []
    for number in (1, 32, 200):
        assert run(*INIT, *words, str(number)).status == 0
        (serving,) = yaml.safe_load((folder / "gangform.yaml").read_text())["servings"]
        assert (serving["context"], serving["concurrency"]) == (65536, number)
        seen.append(serving["parallelism"])
        assert "concurrency-exceeds-cache" not in run("validate").err
    assert seen == [
        {"tensor": 8, "pipeline": 2},
        {"tensor": 8, "pipeline": 2, "decodeContext": 4},
        {"tensor": 8, "pipeline": 3, "decodeContext": 8},
    ]
    status, _, err = run(*INIT, *words, "none")
    assert status == 2 and "`none` is no whole number of at least 1" in err


def test_init_overwrites_only_by_force(run: Run, folder: Path) -> None:
    before = (folder / "gangform.yaml").read_text()
    status, _, err = run(*INIT)
    assert status == 2
    assert "`--force` replaces it" in err
    assert (folder / "gangform.yaml").read_text() == before
    assert run(*INIT, "--force").status == 0
    assert (folder / "gangform.yaml").read_text() != before


def test_force_leaves_nothing_behind_and_keeps_links_and_modes(run: Run, folder: Path) -> None:
    real = folder / "real.yaml"
    (folder / "gangform.yaml").rename(real)
    real.chmod(0o640)
    (folder / "gangform.yaml").symlink_to(real)
    assert run(*INIT, "--force").status == 0
    assert (folder / "gangform.yaml").is_symlink()
    assert "deepseek-r1" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in folder.iterdir()) == ["gangform.yaml", "real.yaml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["init", "-f", "x.yaml"], "`--model NAME` is missing; the models are deepseek-r1"),
        (["init", "-f", "x.yaml", "--model", "kimi-k2"], "`--hardware NAME` is missing"),
        ([*INIT, "-f", "x.yaml", "--model", "deepsek-r1"], "did you mean `deepseek-r1`"),
        ([*INIT, "-f", "x.yaml", "--hardware", "h100"], "there is no hardware `h100`"),
        ([*INIT, "-f", "x.yaml", "--admission", "keue"], "did you mean `kueue`"),
        ([*INIT, "-f", "x.yaml", "--name", "R1"], "R1"),
        ([*INIT, "-f", "x.yaml", "--engine-version", "new"], "new"),
    ],
)
def test_init_with_a_wrong_word_writes_nothing(
    run: Run, folder: Path, words: list[str], said: str
) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert not (folder / "x.yaml").exists()


def test_a_folder_called_like_the_file_is_said(run: Run, folder: Path) -> None:
    (folder / "gangform.yaml").unlink()
    (folder / "gangform.yaml").mkdir()
    for words in (("plan",), (*INIT, "--force")):
        status, _, err = run(*words)
        assert status == 2
        assert "gangform.yaml is a folder" in err


def test_a_folder_that_is_not_there_is_the_machines_fault(run: Run) -> None:
    status, _, err = run(*INIT, "-f", "nowhere/gangform.yaml")
    assert status == 3
    assert "Traceback" not in err


# ── profiles ─────────────────────────────────────────────────────────────────────────────────────


def test_profiles_are_listed_with_figures(run: Run) -> None:
    status, out, _ = run("profiles")
    assert status == 0
    assert "671.0 billion" in out
    assert "8 x NVIDIA-H100-80GB-HBM3" in out
    assert "coreweave" in out
    data = json.loads(run("profiles", "-o", "json").out)
    assert {"models", "hardware", "clusters"} == set(data)


def test_a_profile_is_shown_with_what_is_not_verified(run: Run) -> None:
    out = run("profiles", "h100-8x").out
    assert "gpu.visibleMemory" in out
    assert "(79.2 GiB)" in out
    assert "not verified: 95 % of 96 vCPU" in out
    data = json.loads(run("profiles", "h100-8x", "-o", "json").out)["hardware"]
    assert "cpu" in data["notVerified"]
    assert "gpu.visibleMemory" not in data["notVerified"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("clusters", "aws"), ("hardware", "aws-p5"), ("models", "llama-3.1-8b")],
)
def test_a_profile_as_yaml_is_a_file_of_ones_own(
    run: Run, folder: Path, kind: str, name: str
) -> None:
    before = json.loads(run("profiles", name, "-o", "json").out)
    status, out, _ = run("profiles", name, "-o", "yaml")
    assert status == 0
    assert out.startswith(f"# profiles/{kind}/{name}.yaml (shipped)\n")
    target = folder / "profiles" / kind / f"{name}.yaml"
    target.parent.mkdir(parents=True)
    target.touch()  # as a shell does before the command runs
    assert run("profiles", name, "-o", "yaml").out == out
    target.write_text(out)
    assert f"{name} (yours)" in run("profiles", name).out
    assert json.loads(run("profiles", name, "-o", "json").out) == before


def test_ones_own_profile_is_listed_and_a_broken_one_is_said(run: Run, folder: Path) -> None:
    models = folder / "profiles" / "models"
    models.mkdir(parents=True)
    (models / "mine.yaml").write_text(
        "repository: me/mine\nweights: bf16\ncheckpoint: 10Gi\ncontextLimit: 8192\n"
        "measured: {weightsPerGpu: 10Gi, kvBytesPerToken: 1000}\n"
    )
    status, out, _ = run("profiles")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("  mine ") and "yours" in line]
    (models / "mine.yaml").write_text("repository: me/mine\n")
    status, out, err = run("profiles")
    assert status == 1
    assert "deepseek-r1" in out
    assert "profiles/models/mine.yaml" in err


def test_an_unknown_profile_has_near_misses(run: Run) -> None:
    status, _, err = run("profiles", "deepsek-r1")
    assert status == 2
    assert "did you mean deepseek-r1" in err


# ── schema, completion, names ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["fleet", "serving", "cluster", "model", "hardware"])
def test_schemas_are_printed(run: Run, kind: str) -> None:
    status, out, _ = run("schema", kind)
    assert status == 0
    assert json.loads(out)["title"] == f"gangform {kind}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completions_know_the_commands(run: Run, shell: str) -> None:
    status, out, _ = run("completion", shell)
    assert status == 0
    assert "validate" in out


def test_a_completion_shows_a_line_of_each_command(run: Run) -> None:
    _, out, _ = run("completion", "zsh")
    assert (
        "plan:'Show how every serving runs, verdicts first. Of one serving, or with `-o wide`'"
        in out
    )
    assert "drains" not in out


def test_public_names_are_found_on_use() -> None:
    import gangform
    from gangform.inputs.serving import Serving

    assert gangform.Serving is Serving
    assert set(gangform.__all__) < set(dir(gangform))
    with pytest.raises(AttributeError, match="no attribute `Nope`"):
        gangform.Nope  # noqa: B018
