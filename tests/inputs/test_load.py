"""Files to fleet: one file or folders, the library, where everything was written, and files that cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gangform.findings import InputError
from gangform.inputs.cluster import Cluster
from gangform.inputs.load import (
    LoadError,
    find_fleet_file,
    load_cluster,
    load_fleet,
    load_text,
    select_clusters,
    select_servings,
    shipped_library,
)

CLUSTER = """\
name: prod-a
versions: {kubernetes: "1.36", lws: "0.10", kueue: "0.19"}
foundation: all
pools:
  h100: {hardware: h100-8x, nodes: 28}
"""
SERVING = """\
name: deepseek-r1
namespace: llm
model: deepseek-r1
pool: h100
engine: {name: vllm, version: "0.32.0"}
parallelism: {tensor: 8, pipeline: 2}
groups: 2
context: 32768
admission: {backend: kueue, queue: serving}
"""


def inside(text: str, pad: str) -> str:
    return "".join(f"{pad}{line}\n" for line in text.splitlines())


def entry(text: str) -> str:
    return "  - " + inside(text, "    ").lstrip()


GOOD = f"version: 1\ndefaults: 1\ncluster:\n{inside(CLUSTER, '  ')}servings:\n{entry(SERVING)}"


def failure(text: str) -> LoadError:
    with pytest.raises(LoadError) as caught:
        load_text(text)
    return caught.value


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "gangform.yaml"


# ── forms ────────────────────────────────────────────────────────────────────


def test_one_file_is_a_fleet() -> None:
    loaded = load_text(GOOD)
    assert [cluster.name for cluster in loaded.fleet.clusters] == ["prod-a"]
    assert loaded.fleet.servings[0].parallelism.pipeline == 2  # type: ignore[union-attr]
    assert loaded.library.models["deepseek-r1"].architecture is not None


def test_folders_are_the_same_thing_split(tmp_path: Path) -> None:
    bare = SERVING.removeprefix("name: deepseek-r1\n")
    path = write(
        tmp_path,
        {
            "gangform.yaml": "version: 1\n",
            "profiles/clusters/prod-a.yaml": CLUSTER,
            "profiles/servings/deepseek-r1.yaml": bare,
        },
    )
    assert load_fleet(path).fleet == load_text(GOOD).fleet


def test_a_cluster_is_named_by_its_file_and_others_are_left_alone(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {
            "gangform.yaml": f"version: 1\ncluster: prod-a\nservings:\n{entry(SERVING)}",
            "profiles/clusters/prod-a.yaml": CLUSTER,
            "profiles/clusters/broken.yaml": "][",
        },
    )
    assert [cluster.name for cluster in load_fleet(path).fleet.clusters] == ["prod-a"]


def test_a_shipped_cluster_is_copied_first(tmp_path: Path) -> None:
    path = tmp_path / "gangform.yaml"
    path.write_text("version: 1\ndefaults: 1\ncluster: aws\nservings: []\n")
    with pytest.raises(LoadError) as caught:
        load_fleet(path)
    (finding,) = caught.value.findings
    assert "gangform profiles aws -o yaml > profiles/clusters/aws.yaml" in finding.fix


def test_servings_of_the_list_and_of_the_folder_are_both_of_the_fleet(tmp_path: Path) -> None:
    other = SERVING.replace("name: deepseek-r1\n", "")
    path = write(tmp_path, {"gangform.yaml": GOOD, "profiles/servings/a.yaml": other})
    assert [serving.name for serving in load_fleet(path).fleet.servings] == ["deepseek-r1", "a"]


def test_models_of_the_user_win_and_are_read_only_when_named(tmp_path: Path) -> None:
    own = (
        "repository: me/r1\nweights: fp8\ncheckpoint: 600G\ncontextLimit: 4096\n"
        "measured: {weightsPerGpu: 40G, kvBytesPerToken: 1000}\n"
    )
    path = write(
        tmp_path,
        {
            "gangform.yaml": GOOD,
            "profiles/models/deepseek-r1.yaml": own,
            "profiles/models/broken.yaml": "][",
        },
    )
    loaded = load_fleet(path)
    assert loaded.library.models["deepseek-r1"].repository == "me/r1"
    with pytest.raises(LoadError) as caught:
        load_fleet(path, whole_library=True)
    assert "broken.yaml:1" in caught.value.spans.where(caught.value.findings[0])


def test_every_shipped_profile_is_read() -> None:
    library = shipped_library()
    assert len(library.models) > 5 and len(library.hardware) > 5
    for name, profile in [*library.models.items(), *library.hardware.items()]:
        assert getattr(profile, "name", None) == name


def test_listing_names_reads_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangform.inputs.library.read_file", lambda path: pytest.fail(str(path)))
    assert "deepseek-r1" in shipped_library().models
    assert "h100-8x" in list(shipped_library().hardware)


def test_the_fleet_file_is_found_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "gangform.yaml").touch()
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/a/b").mkdir(parents=True)
    assert find_fleet_file(tmp_path / "repo/a/b") is None
    (tmp_path / "repo/gangform.yaml").touch()
    assert find_fleet_file(tmp_path / "repo/a/b") == tmp_path / "repo/gangform.yaml"


def test_a_cluster_is_read_alone(tmp_path: Path) -> None:
    path = write(tmp_path, {"prod-a.yaml": CLUSTER.replace("name: prod-a\n", "")})
    assert Cluster.load(path.parent / "prod-a.yaml").name == "prod-a"
    (tmp_path / "prod-b.yaml").write_text(CLUSTER)
    with pytest.raises(LoadError, match="name-mismatch"):
        load_cluster(tmp_path / "prod-b.yaml")


# ── places ───────────────────────────────────────────────────────────────────


def test_paths_by_name_lead_to_the_line_and_to_the_path_in_the_file() -> None:
    spans = load_text(GOOD).spans
    path = ("servings", "deepseek-r1", "parallelism", "tensor")
    assert spans.display(path) == "servings[0].parallelism.tensor"
    assert str(spans.find(path)) == "gangform.yaml:15"
    assert spans.display(("clusters", "prod-a", "pools", "h100")) == "cluster.pools.h100"
    assert str(spans.find(("servings", "deepseek-r1", "topology", "level"))) == "gangform.yaml:10"
    layers = spans.find(("models", "deepseek-r1", "architecture", "layers"))
    assert layers is not None and layers.file.endswith("models/deepseek-r1.yaml")


def test_paths_into_a_file_of_its_own_begin_there(tmp_path: Path) -> None:
    files = {"gangform.yaml": GOOD, "profiles/servings/a.yaml": SERVING.partition("\n")[2]}
    spans = load_fleet(write(tmp_path, files)).spans
    path = ("servings", "a", "engine", "version")
    span = spans.find(path)
    assert spans.display(path) == "engine.version"
    assert span is not None and span.line == 4 and span.file.endswith("profiles/servings/a.yaml")


# ── several files ────────────────────────────────────────────────────────────


def test_all_errors_of_all_files_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {
            "gangform.yaml": GOOD.replace("tensor", "tensr").replace(
                "model: deepseek-r1", "model: own"
            ),
            "profiles/servings/a.yaml": SERVING.replace("name: deepseek-r1\n", "").replace(
                "2\n", "x\n"
            ),
            "profiles/servings/b.yaml": "a: 1\na: 2\n",
            "profiles/models/own.yaml": "repository: me/own\n",
        },
    )
    with pytest.raises(LoadError) as caught:
        load_fleet(path)
    error = caught.value
    places = "\n".join(map(error.spans.where, error.findings))
    for part in (
        "gangform.yaml:15",
        "servings/a.yaml:6: groups",
        "servings/b.yaml:2",
        "own.yaml:1: checkpoint",
    ):
        assert part in places


def test_a_name_defined_twice_is_said_with_both_places(tmp_path: Path) -> None:
    (finding,) = failure(GOOD + entry(SERVING)).findings
    assert finding.code.id == "name-duplicate"
    assert "gangform.yaml:10" in finding.what and "gangform.yaml:19" in finding.what
    for name, text in (("servings/deepseek-r1", SERVING), ("clusters/prod-a", CLUSTER)):
        path = write(tmp_path / name, {"gangform.yaml": GOOD, f"profiles/{name}.yaml": text})
        with pytest.raises(LoadError) as caught:
            load_fleet(path)
        assert [found.code.id for found in caught.value.findings] == ["name-duplicate"]
        assert f"{name}.yaml" in caught.value.findings[0].what


def test_a_file_is_called_like_its_object(tmp_path: Path) -> None:
    path = write(tmp_path, {"gangform.yaml": GOOD, "profiles/servings/other.yaml": SERVING})
    with pytest.raises(LoadError) as caught:
        load_fleet(path)
    assert [found.code.id for found in caught.value.findings] == ["name-mismatch"]


def test_files_that_cannot_be_read_are_findings(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"version: 1\n# caf\xe9\n")
    for path, code, line in (
        (tmp_path / "missing.yaml", "file-missing", 1),
        (tmp_path, "file-unreadable", 1),
        (tmp_path / "latin.yaml", "file-not-text", 2),
        (tmp_path / "latin.yaml" / "x", "file-unreadable", 1),
        (tmp_path / "a\0b", "file-unreadable", 1),
    ):
        with pytest.raises(LoadError) as caught:
            load_fleet(path)
        found = caught.value.findings[0]
        assert found.code.id == code and found.fix
        span = caught.value.spans.span_of(found)
        assert span is not None and span.line == line


def test_files_that_would_be_passed_over_are_said(tmp_path: Path) -> None:
    files = {"gangform.yaml": GOOD, "profiles/servings/a.yml": SERVING, "profiles/model/b.yaml": ""}
    with pytest.raises(LoadError) as caught:
        load_fleet(write(tmp_path, files))
    assert [found.code.id for found in caught.value.findings] == ["file-misplaced"] * 2


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("profiles/servings/a.YAML", "call it a.yaml"),
        ("profiles/servings/a.json", "write it as YAML into a.yaml"),
        ("profiles/servings/team/a.yaml", "move its files into"),
        ("profiles/serving/a.yaml", "call it servings"),
        ("profiles/Servings/a.yaml", "call it servings"),
        ("profiles/other/a.yaml", "the folders are models, hardware, clusters, nodes, servings"),
        ("profiles/a.yaml", "move it into one of"),
    ],
)
def test_what_would_never_be_read_is_said(tmp_path: Path, path: str, fix: str) -> None:
    with pytest.raises(LoadError) as caught:
        load_fleet(write(tmp_path, {"gangform.yaml": GOOD, path: SERVING}))
    (found,) = caught.value.findings
    assert found.code.id == "file-misplaced" and fix in found.fix


def test_notes_and_hidden_files_may_lie_beside_profiles(tmp_path: Path) -> None:
    paths = ("README.md", ".gitkeep", ".git/x.yaml", "models/NOTES.txt", "models/.a.yml")
    files = {f"profiles/{path}": "" for path in paths}
    loaded = load_fleet(write(tmp_path, {"gangform.yaml": GOOD, **files}))
    assert loaded.fleet == load_text(GOOD).fleet


def test_selections_are_checked() -> None:
    fleet = load_text(GOOD).fleet
    assert select_clusters(fleet, []) == fleet.clusters
    assert select_servings(fleet, ["deepseek-r1"]) == fleet.servings
    with pytest.raises(InputError, match="did you mean `prod-a`"):
        select_clusters(fleet, ["prod-b"])
    with pytest.raises(InputError, match="no serving `x`"):
        select_servings(fleet, ["x"])


def test_reading_a_good_fleet_imports_no_translation() -> None:
    script = (
        "import sys; from gangform.inputs.load import load_text; load_text(sys.argv[1])\n"
        "late = {'gangform.inputs.translate', 'gangform.inputs.fields', 'difflib', 'jinja2'}\n"
        "print(sorted(late & set(sys.modules)))"
    )
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", script, GOOD],
        env={"PYTHONPATH": ":".join(paths)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
