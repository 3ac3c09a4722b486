"""`gangform profiles import`: printed, kept, refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Run

QWEN = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "max_position_embeddings": 40960,
    "num_hidden_layers": 94,
    "hidden_size": 4096,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 1536,
    "vocab_size": 151936,
}


@pytest.fixture
def checkpoint(folder: Path) -> Path:
    home = folder / "weights"
    home.mkdir()
    (home / "config.json").write_text(json.dumps(QWEN))
    return home


def test_a_profile_is_printed(run: Run, checkpoint: Path) -> None:
    ran = run("profiles", "import", str(checkpoint), "--repository", "Qwen/Qwen3-235B-A22B")
    assert (ran.status, ran.err) == (0, "")
    said = yaml.safe_load(ran.out)
    assert (said["name"], said["parameters"], said["contextLimit"]) == (
        "qwen3-235b-a22b",
        235093634560,
        40960,
    )


def test_a_profile_is_kept_and_then_named_by_a_serving(
    run: Run, checkpoint: Path, folder: Path
) -> None:
    words = (
        "profiles",
        "import",
        str(checkpoint),
        "--repository",
        "q/q",
        "--name",
        "mine",
        "--write",
    )
    ran = run(*words)
    assert (ran.status, ran.out) == (0, "wrote profiles/models/mine.yaml\n")
    assert run(*words).out == "profiles/models/mine.yaml is current\n"
    fleet = folder / "gangform.yaml"
    fleet.write_text(fleet.read_text().replace("model: llama-3.1-8b", "model: mine"))
    shown = run("plan", "small")
    assert "mine" in shown.out + shown.err
    assert "mine" in run("profiles").out


def test_another_profile_of_that_name_is_not_overwritten(
    run: Run, checkpoint: Path, folder: Path
) -> None:
    own = folder / "profiles" / "models" / "mine.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("name: mine\n")
    ran = run(
        "profiles", "import", str(checkpoint), "--repository", "q/q", "--name", "mine", "--write"
    )
    assert ran.status != 0
    assert own.read_text() == "name: mine\n"


def test_everything_missing_is_said_and_nothing_written(
    run: Run, checkpoint: Path, folder: Path
) -> None:
    (checkpoint / "config.json").write_text(json.dumps({**QWEN, "vocab_size": None}))
    ran = run("profiles", "import", str(checkpoint), "--write")
    assert ran.status == 1
    assert "error[configuration-incomplete]" in ran.err
    assert "does not say vocab_size" in ran.err
    assert "error[repository-not-said]" in ran.err
    assert "2 errors; nothing was written" in ran.err
    assert not (folder / "profiles").exists()


def test_a_name_that_is_none_is_refused(run: Run, checkpoint: Path) -> None:
    ran = run("profiles", "import", str(checkpoint), "--repository", "q/q", "--name", "My Model")
    assert ran.status == 1
    assert "My Model" in ran.err


def test_options_of_import_need_it(run: Run) -> None:
    assert run("profiles", "import").status == 2
    ran = run("profiles", "deepseek-r1", "--write")
    assert ran.status == 2
    assert "--write: only with `gangform profiles import PATH`" in ran.err
