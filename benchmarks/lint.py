"""Measures `gangform lint` beside `kubeconform`: whole processes, in turn, over the same thousand documents.

    python benchmarks/lint.py             15 rounds
    python benchmarks/lint.py --runs 3    a look

kubeconform holds each document against the schema of its kind; lint does not, and judges documents together instead.
Its schemas lie on disk: those of core kinds out of the PyPI package `kubernetes-validate`, custom ones out of the Go
modules of their controllers. A kind without a schema is passed over by kubeconform, and counted. Needs Go.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.dont_write_bytecode = True

import run  # noqa: E402

CASES = run.ROOT / "tests" / "cases" / "lint"
DOCUMENTS = 1000
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
SCHEMAS_PACKAGE = "kubernetes-validate==1.37.0"
RELEASE = "v1.36.0"
DEFINITIONS = re.compile(r'"(?:/api/_definitions\.json)?#/\$defs/([^"]+)"')
MODULES = (
    ("sigs.k8s.io/lws@v0.9.0", "config/crd/bases"),
    ("sigs.k8s.io/kueue@v0.17.0", "config/components/crd/bases"),
    ("volcano.sh/volcano@v1.14.1", "config/crd/volcano/bases"),
    ("sigs.k8s.io/gateway-api-inference-extension@v1.1.0", "config/crd/bases"),
    ("github.com/kedacore/keda/v2@v2.18.0", "config/crd/bases"),
)
TIMES = 2.0
"""What lint may take for each second of kubeconform."""


class Sample(NamedTuple):
    wall: float
    cpu: float
    peak: float


def write(folder: Path) -> int:
    """The handed cases, in namespace after namespace, until there are enough; how many documents there are."""
    folder.mkdir(parents=True)
    texts = {path.stem: path.read_text() for path in sorted(CASES.glob("*.yaml"))}
    count = turn = 0
    while count < DOCUMENTS:
        for name, text in texts.items():
            moved = re.sub(r"(?m)^  namespace: (\S+)", rf"  namespace: \1-{turn}", text)
            (folder / f"{name}-{turn}.yaml").write_text(moved)
            count += len(re.findall(r"(?m)^kind:", text))
            if count >= DOCUMENTS:
                break
        turn += 1
    return count


# ── kubeconform and its schemas ──────────────────────────────────────────────────────────────────


def get_kubeconform(cache: Path, env: Mapping[str, str]) -> Path:
    program = cache / "bin" / "kubeconform"
    if not program.exists():
        run.call(["go", "install", KUBECONFORM], {**env, "GOBIN": str(program.parent)})
    return program


def get_schemas(uv: Path, python: Path, cache: Path, env: Mapping[str, str]) -> Path:
    """A folder of schemas that need no other file, called as kubeconform asks for them."""
    folder = cache / "schemas"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        made = Path(scratch) / "schemas"
        made.mkdir()
        package = Path(scratch) / "package"
        install = [uv, "pip", "install", "-q", "--python", python, "--no-deps", "--target", package]
        run.call([*install, SCHEMAS_PACKAGE], env)
        published = package / "kubernetes_validate" / "kubernetes-json-schema" / f"{RELEASE}-local"
        for name, schema in core(published):
            (made / f"{name}.json").write_text(json.dumps(schema))
        for module, bases in MODULES:
            answer = run.call(["go", "mod", "download", "-json", module], env)
            where = Path(json.loads(answer)["Dir"]) / bases
            listed = run.call([python, "-c", _AS_JSON, *sorted(where.glob("*.yaml"))], env)
            for name, schema in json.loads(listed):
                (made / f"{name}.json").write_text(json.dumps(schema))
        made.rename(folder)
    return folder


_AS_JSON = """
import json, sys, yaml
found = []
for file in sys.argv[1:]:
    spec = yaml.load(open(file, "rb"), Loader=yaml.CSafeLoader)["spec"]
    for version in spec["versions"]:
        name = (spec["names"]["kind"].lower(), spec["group"].partition(".")[0], version["name"])
        found.append(("-".join(name), version["schema"]["openAPIV3Schema"]))
print(json.dumps(found))
"""
"""Run by the Python that has PyYAML: definitions of custom kinds → their schemas by name."""


def core(published: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of core kinds, each with the definitions that it refers to."""
    definitions = json.loads((published / "_definitions.json").read_text())["$defs"]
    for file in sorted(published.glob("*-v*.json")):
        text = file.read_text()
        if '"x-kubernetes-group-version-kind"' not in text:
            continue
        needed: dict[str, Any] = {}
        wanted = DEFINITIONS.findall(text)
        while wanted:
            name = wanted.pop()
            if name not in needed:
                needed[name] = definitions[name]
                wanted += DEFINITIONS.findall(json.dumps(definitions[name]))
        schema = {**json.loads(text), "$defs": needed}
        yield file.stem, json.loads(DEFINITIONS.sub(r'"#/$defs/\1"', json.dumps(schema)))


# ── the run ──────────────────────────────────────────────────────────────────────────────────────


def measure(command: Sequence[str], env: Mapping[str, str]) -> tuple[Sample, str]:
    """Run it once; what it took, and the last line it said. Both end with 1 where something is wrong.

    Raises:
        SystemExit: It failed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=env, stdout=out, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        lines = (out.read() + errors.read()).decode().strip().splitlines() or [""]
        if process.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}\n" + "\n".join(lines[-20:]))
    sample = Sample(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
    return sample, lines[-1]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=15, metavar="N", help="rounds (default: 15)")
    options.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "gangform-benchmarks",
        metavar="FOLDER",
        help="where programs are installed, and kept for the next run",
    )
    given = options.parse_args()
    cache = given.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    env = run.clean_environment(cache)
    try:
        uv = run.get_uv(cache, env)
        python = run.get_python(uv, cache, env)
        kubeconform = get_kubeconform(cache, env)
        schemas = get_schemas(uv, python, cache, env)
    except run.Missing as missing:
        sys.exit(f"cannot be measured: {missing}")
    folder = cache / "lint"
    shutil.rmtree(folder, ignore_errors=True)
    count = write(folder)
    location = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    options_ = ["-summary", "-ignore-missing-schemas", "-schema-location", location]
    commands = {
        "gangform lint": [str(python.parent / "gangform"), "lint", str(folder)],
        "kubeconform": [str(kubeconform), *options_, str(folder)],
    }
    said = {what: measure(command, env)[1] for what, command in commands.items()}
    machine = run.Machine()
    samples: dict[str, list[Sample]] = {what: [] for what in commands}
    for turn in range(given.runs):
        run.progress(f"round {turn + 1} of {given.runs}")
        for what, command in commands.items():
            samples[what].append(measure(command, env)[0])
        machine.look()
    run.progress("")
    for line in machine.said():
        print(line)
    print(f"\n{count} documents in {len(list(folder.iterdir()))} files")
    print(f"{'':16}{'best s':>10}{'median s':>10}{'best CPU s':>12}{'peak MiB':>10}")
    for what, taken in samples.items():
        walls = [one.wall for one in taken]
        cpu, peak = min(one.cpu for one in taken), max(one.peak for one in taken)
        print(f"{what:16}{min(walls):10.3f}{statistics.median(walls):10.3f}{cpu:12.3f}{peak:10.0f}")
        print(f"  {said[what]}")
    ours, theirs = ([one.wall for one in samples[what]] for what in commands)
    ratio = min(ours) / min(theirs)
    median = statistics.median(ours) / statistics.median(theirs)
    spent, spent_there = (min(one.cpu for one in samples[what]) for what in commands)
    print(f"\ngangform lint : kubeconform = {ratio:.2f} : 1 (of the medians {median:.2f} : 1)")
    print(f"of processor time {spent / spent_there:.2f} : 1: both work on all processors")
    print(f"aim: within {TIMES:.1f} times, {'met' if ratio <= TIMES else 'NOT MET'}")


if __name__ == "__main__":
    main()
