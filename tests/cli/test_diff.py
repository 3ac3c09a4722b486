"""`gangform diff` over real Git repositories."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.change import IMAGE, NEWER, change

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as on a machine where nobody has configured it."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "a")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.com")


def git(folder: Path, *words: str) -> str:
    ran = subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    )
    return ran.stdout.strip()


def commit(folder: Path, message: str = "a") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(run: Run, folder: Path) -> Path:
    """The fleet and its output on `main`, and a branch off it."""
    git(folder, "init", "-q", "-b", "main")
    assert run("synth").err == ""
    commit(folder)
    git(folder, "checkout", "-q", "-b", "change")
    return folder


def test_diff_compares_with_where_the_branch_began(run: Run, repository: Path) -> None:
    base = git(repository, "rev-parse", "main")
    title = f"dist against {base[:12]}, where HEAD left main"
    assert run("diff").out == f"{title}\n  nothing changes\n"
    change(repository, IMAGE, NEWER)
    run("synth")
    commit(repository)
    # What others did on main meanwhile is not of this branch.
    git(repository, "checkout", "-q", "main")
    change(repository, "groups: 2\n    context: 32768", "groups: 3\n    context: 32768")
    run("synth")
    commit(repository)
    git(repository, "checkout", "-q", "change")
    status, out, err = run("diff")
    assert (status, err) == (0, "")
    assert out.startswith(f"prod: {title}\n")
    assert "rolls 2 groups (+0 GPUs while it lasts, at least 1 serving, ~35 min)" in out
    assert "vllm/vllm-openai:v0.32.0" in out and "vllm/vllm-openai:v0.33.0" in out
    assert "ClusterQueue" not in out


def test_diff_takes_a_revision_and_sees_what_is_not_committed(run: Run, repository: Path) -> None:
    change(repository, "groups: 2\n    context: 32768", "groups: 3\n    context: 32768")
    run("synth")
    out = run("diff", "HEAD").out
    assert "1 group more (+16 GPUs)" in out
    (repository / "dist/prod/r1.k8s.yaml").unlink()
    assert "LeaderWorkerSet/llm/r1  removed: 2 groups, 32 GPUs" in run("diff", "HEAD").out
    assert run("diff", "HEAD").status == 0


def test_of_several_clusters_every_line_names_its_own(run: Run, folder: Path) -> None:
    file = folder / "gangform.yaml"
    fleet = yaml.safe_load(file.read_text())
    west = copy.deepcopy(fleet["cluster"]) | {"name": "west"}
    fleet["clusters"] = [fleet.pop("cluster"), west]
    fleet["servings"][0]["clusters"] = ["prod"]
    file.write_text(yaml.safe_dump(fleet))
    run("synth")
    fleet["servings"][0]["engine"]["version"] = "0.33.0"
    file.write_text(yaml.safe_dump(fleet))
    assert run("synth").err.startswith("prod: LeaderWorkerSet/llm/r1: rolls 2 groups")


def test_diff_of_a_cluster_that_is_not_there_is_a_wrong_call(run: Run, repository: Path) -> None:
    (repository / "gangform.yaml").rename(repository / "fleet.txt")
    status, out, err = run("diff", "--output-dir", "dist", "--cluster", "nope")
    assert (status, out) == (2, "") and "no cluster is called `nope`; there are prod" in err
    (repository / "flat").mkdir()
    (repository / "flat/a.yaml").write_text((repository / "dist/prod/r1.k8s.yaml").read_text())
    assert run("diff", "--output-dir", "flat", "--cluster", "nope").status == 2
    assert run("diff", "--output-dir", "dist", "--cluster", "prod").status == 0
    (repository / "fleet.txt").rename(repository / "gangform.yaml")
    assert run("diff", "--cluster", "prod").status == 0
    assert run("diff", "--cluster", "nope").status == 2


def test_diff_for_machines_and_for_pull_requests(run: Run, repository: Path) -> None:
    change(repository, IMAGE, NEWER)
    run("synth")
    data = json.loads(run("diff", "-o", "json").out)
    (cluster,) = data["clusters"]
    assert data["version"] == 1 and cluster["name"] == "prod"
    # The newer release drains, so that an alert waits longer.
    assert [(one["object"], one["outcome"]) for one in cluster["changes"]] == [
        ("LeaderWorkerSet/llm/r1", "rolls"),
        ("PrometheusRule/llm/r1", "none"),
    ]
    assert cluster["changes"][0]["rollout"]["seconds"] > 0
    comment = run("diff", "-o", "markdown").out
    assert comment.startswith("**The price of this change** (dist against ")
    assert "| `LeaderWorkerSet/llm/r1` | rolls | rolls 2 groups" in comment
    assert "<details><summary>" in comment and comment.count("<details>") == 1


def test_diff_needs_no_fleet_file(run: Run, repository: Path) -> None:
    change(repository, IMAGE, NEWER)
    run("synth")
    (repository / "gangform.yaml").unlink()
    out = run("diff").out
    assert "rolls 2 groups (+0 GPUs while it lasts, at least 1 serving):" in out
    assert "rolls 2 groups" in run("diff", "--output-dir", "dist/prod").out


def test_diff_says_what_a_broken_fleet_file_costs(run: Run, repository: Path) -> None:
    change(repository, IMAGE, NEWER)
    run("synth")
    change(repository, "model: deepseek-r1", "model: nothing")
    ran = run("diff")
    assert ran.status == 0
    assert "releases and durations are not known" in ran.err
    assert "at least 1 serving):" in ran.out


def test_diff_reads_any_manifests(run: Run, repository: Path) -> None:
    (repository / "gangform.yaml").unlink()
    folder = repository / "manifests"
    folder.mkdir()
    manifest = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: %s}]}\n"
    (folder / "a.yml").write_text(manifest % 80)
    (folder / "broken.yaml").write_text("a: [")
    (folder / ".hidden.yaml").write_text(manifest % 1)
    (folder / "link.yaml").symlink_to("a.yml")
    commit(repository)
    (folder / "a.yml").write_text(manifest % 81)
    assert run("diff", "HEAD", "--output-dir", "manifests").err == ""
    (folder / "broken.yaml").write_text("b: [")
    ran = run("diff", "HEAD", "--output-dir", "manifests")
    assert ran.status == 0
    assert "Service/a    in place: spec.ports[0].port" in ran.out
    assert "broken.yaml  it cannot be read" in ran.out
    assert "hidden" not in ran.out + ran.err


@pytest.mark.parametrize(
    "revision", ["nothing", "-x", "--upload-pack=a", "HEAD:gangform.yaml", "^HEAD", ""]
)
def test_diff_refuses_what_is_no_revision(run: Run, repository: Path, revision: str) -> None:
    status, _, err = run("diff", "--", revision)
    assert status == 2
    assert f"there is no commit `{revision}` here" in err


def test_diff_without_a_default_branch_asks_for_a_revision(run: Run, repository: Path) -> None:
    git(repository, "branch", "-D", "-q", "main")
    status, _, err = run("diff")
    assert status == 2
    assert "name a revision: `gangform diff REV`" in err
    assert run("diff", "HEAD").status == 0


def test_diff_outside_a_repository_and_before_a_commit(run: Run, folder: Path) -> None:
    run("synth")
    status, _, err = run("diff")
    assert status == 2 and "is in no Git repository" in err
    git(folder, "init", "-q", "-b", "main")
    status, _, err = run("diff")
    assert status == 2 and "nothing is committed here yet" in err


def test_a_shallow_clone_says_how_deep_it_must_be(
    run: Run, repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any
) -> None:
    for number in range(3):
        (repository / "a").write_text(str(number))
        commit(repository)
    clone = tmp_path_factory.mktemp("clone") / "c"
    git(repository, "clone", "-q", "--depth", "1", f"file://{repository}", str(clone))
    monkeypatch.chdir(clone)
    git(clone, "remote", "set-head", "origin", "-d")
    git(clone, "branch", "-D", "-r", "-q", "origin/change")
    status, _, err = run("diff")
    assert status == 3
    assert "fetch-depth: 0" in err
    git(clone, "fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    status, _, err = run("diff")
    assert status == 3
    assert "does not reach back to where HEAD left origin/main" in err
    assert run("diff", "origin/main").status == 0


def test_without_git_the_machine_is_not_able(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    status, _, err = run("diff")
    assert status == 3
    assert "git cannot be run" in err


def test_a_repository_of_another_owner_says_how_to_trust_it(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    status, _, err = run("diff")
    assert status == 3
    assert "safe.directory" in err


def test_diff_runs_nothing_of_the_repository(run: Run, repository: Path) -> None:
    trap = repository / "trap"
    trap.write_text("#!/bin/sh\ntouch sprung\ncat\n")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "diff.external",
        "filter.x.smudge",
        "filter.x.clean",
        "core.pager",
    ):
        git(repository, "config", key, str(trap))
    (repository / ".gitattributes").write_text("*.yaml filter=x diff=x\n")
    change(repository, IMAGE, NEWER)
    run("synth")
    (repository / "sprung").unlink(missing_ok=True)
    assert "rolls 2 groups" in run("diff").out
    assert not (repository / "sprung").exists()


def test_an_output_folder_outside_the_repository_is_refused(
    run: Run, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    status, _, err = run("diff", "--output-dir", str(other))
    assert status == 2
    assert "no Git repository" in err


def test_a_file_that_cannot_be_read_is_in_every_answer(run: Run, repository: Path) -> None:
    (repository / "dist" / "prod" / "r1.k8s.yaml").write_text("a: [")
    unread = "it cannot be read, so what changes in it has no price"
    assert f"prod/r1.k8s.yaml  {unread}" in run("diff").out
    assert f"| `prod/r1.k8s.yaml` | unknown | {unread} |" in run("diff", "-o", "markdown").out
    (cluster,) = json.loads(run("diff", "-o", "json").out)["clusters"]
    assert cluster["unread"] == ["prod/r1.k8s.yaml"]


def test_of_an_object_that_stands_twice_the_last_is_what_stays(run: Run, repository: Path) -> None:
    file = repository / "dist" / "prod" / "r1.k8s.yaml"
    file.write_text(f"{file.read_text()}---\n{file.read_text()}")
    assert run("diff").out.endswith("nothing changes\n")


def test_a_pipe_among_manifests_is_not_read(run: Run, repository: Path) -> None:
    os.mkfifo(repository / "dist" / "prod" / "pipe.yaml")
    os.mkfifo(repository / "dist" / "prod" / "pipe.k8s.yaml")
    assert run("diff").out.endswith("nothing changes\n")
    assert run("synth").status == 0


def test_no_secret_is_shown(run: Run, repository: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {key: %s}\n"
    file = repository / "dist" / "prod" / "secret.yaml"
    file.write_text(secret % "sesame")
    commit(repository)
    file.write_text(secret % "open")
    for form in ("table", "markdown", "json"):
        out = run("diff", "HEAD", "-o", form).out
        assert "stringData.key" in out
        assert "sesame" not in out and '"open"' not in out and "`open`" not in out


def test_a_base_is_priced_beside_its_patch(run: Run, repository: Path) -> None:
    folder = repository / "manifests"
    folder.mkdir()
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: a}\n"
    base = (
        head + 'spec: {replicas: 2, template: {spec: {containers: [{name: c, image: "x:%d"}]}}}\n'
    )
    (folder / "a.yaml").write_text(base % 1)
    (folder / "patch.yaml").write_text(head + "spec: {replicas: 3}\n")
    commit(repository)
    (folder / "a.yaml").write_text(base % 2)
    out = run("diff", "HEAD", "--output-dir", "manifests").out
    assert "Deployment/a/d  rolls 2 groups" in out


def test_settings_of_a_tool_beside_manifests_are_no_objects(run: Run, repository: Path) -> None:
    (repository / "dist" / "prod" / "kustomization.yaml").write_text("resources: [r1.k8s.yaml]")
    assert run("diff").out.endswith("nothing changes\n")


def test_a_folder_that_the_commit_does_not_have_is_said(run: Run, repository: Path) -> None:
    (repository / "dist").rename(repository / "made")
    out = run("diff", "--output-dir", "made").out
    assert "where HEAD left main, which has no manifests there" in out


def test_no_name_or_value_of_a_manifest_is_markup(run: Run, repository: Path) -> None:
    evil = "a|b\\\\|c `x` <img> [l](http://e.example) @octocat"
    (repository / "dist" / "prod" / "other.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\n"
        f'metadata: {{name: "{evil}\\n## x", namespace: "\\e[2J"}}\n'
        "spec: {replicas: 1}\n"
    )
    (row,) = [line for line in run("diff", "-o", "markdown").out.splitlines() if "octocat" in line]
    assert "<img>" not in row and "[l](" not in row
    assert "@octocat" not in row
    out = run("diff").out
    assert "\x1b" not in out
    assert "\\u001b[2J" in out


def test_what_git_tells_its_hooks_does_not_say_which_repository_is_meant(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_PREFIX", "")
    assert "nothing changes" in run("diff").out
