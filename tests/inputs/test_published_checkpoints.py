"""Every configuration that a planner of others ships: a profile, or the reason why not; never anything else.

They come out of the wheel of `aiconfigurator-core`, 80 MB, which is fetched and not installed.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gangform.findings import InputError
from gangform.inputs.checkpoint import import_checkpoint

pytestmark = pytest.mark.network

WHEEL = "aiconfigurator-core==0.12.0"
REFUSED = ("Gemma4", "MiMoForCausalLM", "Step3p7", "DeciLM")
"""Classes that are not described here."""
BILLIONS = {
    "deepseek-ai/DeepSeek-R1": 671.0,
    "moonshotai/Kimi-K2-Instruct": 1026.4,
    "zai-org/GLM-5.2": 743.4,
    "meta-llama/Meta-Llama-3.1-405B": 405.9,
    "Qwen/Qwen3-235B-A22B": 235.1,
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": 480.2,
    "openai/gpt-oss-120b": 116.8,
    "openai/gpt-oss-20b": 20.9,
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": 400.7,
    "mistralai/Mixtral-8x22B-v0.1": 140.6,
    "MiniMaxAI/MiniMax-M2.5": 228.7,
    "MiniMaxAI/MiniMax-M3": 426.2,
    "XiaomiMiMo/MiMo-V2-Flash": 308.8,
    "deepseek-ai/DeepSeek-V4-Pro": 1573.0,
    "deepseek-ai/DeepSeek-V4-Flash": 284.3,
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": 549.3,
    "Qwen/Qwen3.5-397B-A17B": 396.3,
}
"""Weights, as published or as `engines §5.2` has them."""


def unpacked(folder: Path) -> list[Path]:
    """A folder for each model, named as the hub names it."""
    # The environment of the tests has no pip; one that is made has Python's own.
    made = folder / "pip"
    subprocess.run([sys.executable, "-m", "venv", str(made)], check=True)
    words = ["download", "-q", "--no-deps", "--only-binary=:all:", "--python-version=3.11"]
    target = ["--platform=manylinux_2_28_x86_64", "-d", str(folder), WHEEL]
    done = subprocess.run(
        [str(made / "bin" / "python"), "-m", "pip", *words, *target],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{WHEEL} cannot be fetched: {done.stderr}")
    found = []
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        for name in sorted(wheel.namelist()):
            model, kind = Path(name).name.partition("_")[::2]
            if "/model_configs/" not in name or kind not in ("config.json", "hf_quant_config.json"):
                continue
            home = folder / "models" / model
            home.mkdir(parents=True, exist_ok=True)
            (home / kind).write_bytes(wheel.read(name))
            found.append(home)
    return sorted(set(found))


def test_every_published_configuration(tmp_path: Path) -> None:
    refused, counted = set(), {}
    for home in unpacked(tmp_path):
        repository = home.name.replace("--", "/")
        try:
            made = import_checkpoint(home, repository=repository, name=None).profile
        except InputError as error:
            assert [one.code.id for one in error.findings] == ["architecture-unknown"], repository
            refused |= {error.findings[0].what.split()[2].rstrip(",")}
            continue
        assert made.parameters is not None
        counted[repository] = made.parameters
        assert made.checkpoint > made.parameters // 2, repository
    assert all(name.startswith(REFUSED) for name in refused)
    assert len(counted) > 80
    for repository, billions in BILLIONS.items():
        assert abs(counted[repository] / 10**9 - billions) <= 0.06, repository
