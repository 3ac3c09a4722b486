"""What is read of what was named, and what is passed over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gangform.lint.kustomizations import kustomization
from gangform.lint.report import Report
from gangform.lint.sources import Missing

Run = Callable[..., Report]
Write = Callable[[str, "str | bytes"], str]


@pytest.fixture(autouse=True)
def forget() -> None:
    """Kustomizations are read once in a run; here one process has many."""
    kustomization.cache_clear()


def codes(report: Report) -> list[tuple[str, str]]:
    return [(each.finding.code.id, str(each.span)) for each in report.findings]


def test_a_folder_is_searched_for_manifests(run: Run, write: Write, service: str) -> None:
    text = service.format(app="r1")
    for name in ("a.yaml", "deep/er/b.yml", "c.json", "d.txt", ".hidden/e.yaml", "f.YAML"):
        write(f"k8s/{name}", text.replace("name: api", f"name: {name[0]}"))
    write("k8s/values.yaml", "replicas: 2\nimage: {tag: x}\n")
    write("k8s/package.json", "{}")
    report = run("k8s")
    assert (report.objects, report.files, report.others) == (4, 4, 2)
    assert report.findings == ()


def test_a_file_that_was_named_is_read_whatever_it_is_called(
    run: Run, write: Write, service: str
) -> None:
    assert run(write("manifest.txt", service)).objects == 1
    assert codes(run(write("notes.md", "# Notes\n\n- a: b: c\n"))) == [
        ("yaml-syntax", "notes.md:3")
    ]


def test_stdin_is_a_stream_of_objects(run: Run, service: str) -> None:
    stream = f"---\n# Source: chart/templates/a.yaml\n{service}---\n---\n# nothing\n".encode()
    report = run("-", stdin=stream)
    assert (report.objects, report.others) == (1, 0)


def test_a_name_that_leads_nowhere_is_missing(run: Run, write: Write) -> None:
    write("a.yaml", "")
    with pytest.raises(Missing, match=r"there is no file b\.yaml"):
        run("a.yaml", "b.yaml")


def test_what_is_no_object_is_passed_over(run: Run, write: Write, service: str) -> None:
    write(
        "k/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    )
    write("k/chart.yaml", "apiVersion: v2\nname: chart\n")
    write("k/playbook.yaml", "- hosts: all\n  tasks: [{k8s: {apiVersion: v1}}]\n")
    write("k/broken.yaml", "apiVersion here\n  a: : b\n\tc\n")
    write("k/service.yaml", service)
    report = run("k")
    assert (report.objects, report.others, report.findings) == (1, 4, ())


def test_broken_manifests_in_a_folder_are_said(run: Run, write: Write, service: str) -> None:
    write("k/a.yaml", service + "  broken: [\n")
    write("k/b.yaml", f"{service}---\nkind: [\n---\n{service.replace('name: api', 'name: b')}")
    report = run("k")
    assert codes(report) == [("yaml-syntax", "k/a.yaml:11"), ("yaml-syntax", "k/b.yaml:12")]
    assert report.objects == 2


def test_a_template_is_one_note(run: Run, write: Write) -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.name }}\n{{- if .x }}\n"
    report = run(write("service.yaml", text * 3))
    assert codes(report) == [("template-not-rendered", "service.yaml:1")]
    assert not any(each.finding.breaks for each in report.findings)


def test_the_templates_of_a_chart_are_one_note(run: Run, write: Write, service: str) -> None:
    write("charts/a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n")
    write("charts/a/values.yaml", "apiVersion: v1\n")
    for number in range(5):
        write(f"charts/a/templates/{number}.yaml", service.replace("api", '"{{ .Release.Name }}"'))
    write("charts/a/crds/c.yaml", service.format(app="x"))
    report = run("charts")
    assert codes(report) == [("template-not-rendered", "charts/a/Chart.yaml:1")]
    assert "helm template charts/a | gangform lint -" in report.findings[0].finding.fix
    assert report.objects == 1


def test_braces_in_a_healthy_manifest_are_no_template(run: Run, write: Write) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: '{{ $labels.pod }}'\n"
    assert codes(run(write("a.yaml", text))) == []


def test_patches_of_a_kustomization_are_no_objects(run: Run, write: Write, workload: str) -> None:
    write(
        "base/kustomization.yaml",
        "resources: [set.yaml]\npatches:\n  - path: p/size.yaml\n  - patch: '[]'\n"
        "patchesStrategicMerge: [more.yaml, 'a: b']\n",
    )
    write("base/set.yaml", workload.format(name="r1"))
    part = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: r1}\n"
    write("base/p/size.yaml", part)
    write("base/more.yaml", part)
    report = run("base")
    assert (report.objects, report.others) == (1, 3)
    assert ("kustomization-not-built", "base/kustomization.yaml:1") in codes(report)


def test_a_kustomization_names_files_that_exist(run: Run, write: Write, workload: str) -> None:
    write(
        "k/kustomization.yml",
        "resources:\n  - set.yaml\n  - gone.yaml\n  - ../base\n  - https://example.net/x.yaml\n"
        "  - github.com/a/b?ref=v1\npatches:\n  - path: lost.yaml\n",
    )
    write("k/set.yaml", workload.format(name="r1"))
    report = run("k")
    missing = [place for code, place in codes(report) if code == "kustomization-file-missing"]
    assert missing == ["k/kustomization.yml:3", "k/kustomization.yml:4", "k/kustomization.yml:8"]
    write("k/gone.yaml", workload.format(name="r2"))
    write("base/kustomization.yaml", "resources: []\n")
    write("k/lost.yaml", "[]")
    kustomization.cache_clear()
    assert "kustomization-file-missing" not in [code for code, _ in codes(run("k"))]


def test_a_kustomization_that_changes_nothing_needs_no_build(
    run: Run, write: Write, workload: str
) -> None:
    write("k/kustomization.yaml", "resources: [set.yaml]\n")
    write("k/set.yaml", workload.format(name="r1"))
    assert "kustomization-not-built" not in [code for code, _ in codes(run("k"))]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"apiVersion: v1\nkind: \xe9\n", 2),
        ("apiVersion: v1\nkind: Service\n".encode("utf-16"), 1),
        (bytes(range(256)) + b"apiVersion", 2),
    ],
)
def test_what_is_not_utf_8_is_said(run: Run, write: Write, content: bytes, line: int) -> None:
    report = run(write("a.yaml", content))
    assert codes(report) == [("file-not-text", f"a.yaml:{line}")]


def test_links_in_a_ring_end(run: Run, write: Write, tmp_path: Path, service: str) -> None:
    write("k/a.yaml", service)
    (tmp_path / "k" / "again").symlink_to(tmp_path / "k")
    (tmp_path / "k" / "same.yaml").symlink_to(tmp_path / "k" / "a.yaml")
    (tmp_path / "k" / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    assert run("k", "k/a.yaml").objects == 1


def test_a_file_that_is_a_patch_is_no_object(run: Run, write: Write, workload: str) -> None:
    part = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n"
        "      containers: [{name: engine, args: [--port=80]}]\n"
    )
    write("k/part.yaml", part)
    assert codes(run("k/part.yaml")) == [("object-is-part", "k/part.yaml:2")]
    write("k/kustomization.yaml", "patches: [{path: set.yaml}]\n")
    write("k/set.yaml", workload.format(name="r1"))
    kustomization.cache_clear()
    assert codes(run("k/set.yaml")) == [("object-is-part", "k/set.yaml:2")]
    write("json.yaml", "# one\n- op: add\n  path: /spec\n  value: {}\n")
    assert codes(run("json.yaml")) == [("object-is-part", "json.yaml:2")]
    bare = workload.format(name="r1").partition("    workerTemplate")[0]
    write("lws.patch.yaml", bare)
    assert ("object-is-part", "lws.patch.yaml:2") in codes(run("lws.patch.yaml"))
    write("lws.yaml", bare)
    assert "object-is-part" not in [code for code, _ in codes(run("lws.yaml"))]


def test_what_an_overlay_may_add_is_not_missed_below_it(
    run: Run, write: Write, workload: str
) -> None:
    write("base/kustomization.yaml", "resources: [set.yaml]\n")
    write("base/set.yaml", workload.format(name="r1").replace("engine:1.0", "ENGINE"))
    write("over/kustomization.yaml", "resources: [../base]\n")
    kustomization.cache_clear()
    assert "placeholder-left" in [code for code, _ in codes(run("base", "over"))]
    write("over/kustomization.yaml", "resources: [../base]\nimages: [{name: a, newTag: b}]\n")
    kustomization.cache_clear()
    report = codes(run("base", "over"))
    assert "placeholder-left" not in [code for code, _ in report]
    assert ("kustomization-not-built", "over/kustomization.yaml:1") in report


def test_a_file_of_nearly_the_name_is_the_one_meant(run: Run, write: Write, workload: str) -> None:
    write("k/kustomization.yaml", "patches: [{path: patch-vllm-gpt120b.yaml}]\n")
    write("k/patch-vllm-gpt-120b.yaml", workload.format(name="r1"))
    kustomization.cache_clear()
    assert ("kustomization-file-misnamed", "k/kustomization.yaml:1") in codes(run("k"))
    write("k/kustomization.yaml", "patches: [{path: patch-vllm-gpt-120b.yaml}]\n")
    kustomization.cache_clear()
    assert "kustomization-file-misnamed" not in [code for code, _ in codes(run("k"))]
