"""Which objects are judged together."""

from __future__ import annotations

from collections.abc import Callable

from gangform.lint.report import Report

Run = Callable[..., Report]
Write = Callable[[str, "str | bytes"], str]
NOTHING = "selector-matches-nothing"


def found(report: Report, code: str = NOTHING) -> list[str]:
    return [str(each.span) for each in report.findings if each.finding.code.id == code]


def test_what_is_named_together_is_judged_together(
    run: Run, write: Write, workload: str, service: str
) -> None:
    write("k/set.yaml", workload.format(name="r1"))
    write("k/net/service.yaml", service.format(app="other"))
    assert found(run("k/net")) == []
    assert found(run("k")) == ["k/net/service.yaml:7"]
    assert found(run("k/set.yaml", "k/net/service.yaml")) == ["k/net/service.yaml:7"]


def test_alternatives_in_folders_stay_apart(
    run: Run, write: Write, workload: str, service: str
) -> None:
    for name in ("dev", "prod"):
        write(
            f"k/{name}/set.yaml",
            workload.format(name="r1").replace("size: 2", f"size: {len(name)}"),
        )
    write("k/dev/service.yaml", service.format(app="r1"))
    write("k/prod/service.yaml", service.format(app="other"))
    assert found(run("k")) == ["k/prod/service.yaml:7"]
    assert found(run("k/dev", "k/prod")) == ["k/prod/service.yaml:7"]


def test_alternatives_in_one_folder_are_judged_each_by_itself(
    run: Run, write: Write, workload: str, service: str
) -> None:
    write("k/a.yaml", f"{workload.format(name='r1')}---\n{service.format(app='r1')}")
    write("k/b.yaml", f"{workload.format(name='r2')}---\n{service.format(app='r2')}")
    assert found(run("k")) == []


def test_the_same_object_twice_is_no_alternative(
    run: Run, write: Write, workload: str, service: str
) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: llm}\n"
    write("k/a.yaml", f"{space}---\n{workload.format(name='r1')}")
    write("k/b.yaml", f"{space}---\n{service.format(app='other')}")
    assert found(run("k")) == ["k/b.yaml:11"]


def test_in_a_stream_a_set_ends_where_an_object_comes_again(
    run: Run, workload: str, service: str
) -> None:
    first = f"{workload.format(name='r1')}---\n{service.format(app='r1')}"
    second = f"{workload.format(name='r2')}---\n{service.format(app='r2')}"
    assert found(run("-", stdin=f"{first}---\n{second}".encode())) == []
    wrong = second.replace("app: r2\n  ports", "app: r3\n  ports")
    assert found(run("-", stdin=f"{first}---\n{wrong}".encode())) == ["-:52"]


def test_who_names_no_namespace_is_in_the_only_one(run: Run, workload: str, service: str) -> None:
    bare = service.format(app="other").replace("  namespace: llm\n", "")
    stream = f"{workload.format(name='r1')}---\n{bare}"
    report = run("-", stdin=stream.encode())
    assert found(report) == ["-:23"]
    assert [each.namespace for each in report.findings if each.kind == "Service"] == [""]
    both = f"{stream}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: b}}\n"
    assert found(run("-", stdin=both.encode())) == []


def test_kinds_of_other_groups_are_not_ours(run: Run, workload: str, service: str) -> None:
    knative = service.format(app="other").replace("v1\n", "serving.knative.dev/v1\n", 1)
    report = run("-", stdin=f"{workload.format(name='r1')}---\n{knative}".encode())
    assert (found(report), report.objects) == ([], 2)


def test_what_a_controller_made_is_not_judged_beside_its_owner(
    run: Run, workload: str, service: str
) -> None:
    owner = "  ownerReferences:\n    - {kind: LeaderWorkerSet, name: r1}\nspec:"
    made = service.format(app="other").replace("spec:", owner)
    assert found(run("-", stdin=f"{workload.format(name='r1')}---\n{made}".encode())) == []
    left = f"{workload.format(name='r2')}---\n{made}"
    assert found(run("-", stdin=left.encode())) == ["-:26"]


def test_lists_are_expanded_where_they_stand(run: Run, workload: str, service: str) -> None:
    def item(text: str) -> str:
        return "  - " + "\n    ".join(text.rstrip().splitlines()) + "\n"

    text = item(workload.format(name="r1")) + item(service.format(app="other"))
    report = run("-", stdin=f"apiVersion: v1\nkind: List\nitems:\n{text}".encode())
    assert found(report) == ["-:26"]
    (finding,) = [each for each in report.findings if each.kind == "Service"]
    assert (finding.span.column, finding.path) == (7, "spec.selector")
