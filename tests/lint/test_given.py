"""What is known beside the manifests: objects of a cluster, and facts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gangform.apis.versions import Release, Versions
from gangform.documents.document import Document, Key
from gangform.findings import InputError
from gangform.inputs.given import read_versions
from gangform.lint.given import Beside, beside, context_of
from gangform.lint.report import Report
from gangform.lint.sources import Missing
from gangform.units import Seconds

Run = Callable[..., Report]
Write = Callable[[str, "str | bytes"], str]

FACTS = """\
versions: {lws: "0.10", vllm: "0.33.0"}
exists: [LocalQueue/llm/serving, Secret/token, ClusterQueue/all]
domains: {example.net/rack: 2}
lwsSchedulerProvider: volcano
stateMetrics: configured
coldStart: {LeaderWorkerSet/llm/r1: 21m, LeaderWorkerSet/r2: 90s}
"""
NODES = """\
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Node, metadata: {name: a, labels: {example.net/rack: r1}}}
  - {apiVersion: v1, kind: Node, metadata: {name: b, labels: {example.net/rack: r1}}}
  - {apiVersion: v1, kind: Node, metadata: {name: c, labels: {example.net/rack: r2, x: y}}}
"""


def read(*files: str, **versions: str) -> Beside:
    return beside(files, read_versions(versions))


def test_facts_become_context(write: Write) -> None:
    given = read(write("facts.yaml", FACTS), kueue="0.19")
    known = given.context
    assert known.versions == Versions(lws=Release(0, 10), kueue=Release(0, 19))
    assert known.engines == {"vllm": Release(0, 33)}
    assert (known.domains, known.provider) == ({"example.net/rack": 2}, "volcano")
    assert known.state_metrics
    assert not known.complete
    document = Document(
        manifest={"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "llm"}}, builder=""
    )
    context = context_of(given, [document], [])
    assert context.exists == {
        Key("kueue.x-k8s.io", "LocalQueue", "llm", "serving"),
        Key("kueue.x-k8s.io", "ClusterQueue", "", "all"),
        Key("", "Secret", "llm", "token"),
        Key("", "Secret", "", "token"),
    }
    group, kind = "leaderworkerset.x-k8s.io", "LeaderWorkerSet"
    assert context.cold_starts == {
        Key(group, kind, "llm", "r1"): Seconds(1260),
        Key(group, kind, "llm", "r2"): Seconds(90),
        Key(group, kind, "", "r2"): Seconds(90),
    }


def test_nothing_given_is_nothing_known() -> None:
    context = read().context
    assert (context.versions, context.domains, context.engines) == (None, None, None)


def test_the_command_line_and_later_files_win(write: Write) -> None:
    first = write("a.yaml", 'versions: {lws: "0.9", kueue: "0.18"}\nlwsSchedulerProvider: none\n')
    second = write("b.yaml", 'versions: {lws: "0.10"}\ncomplete: true\n')
    known = read(first, second, kueue="0.19").context
    assert known.versions == Versions(lws=Release(0, 10), kueue=Release(0, 19))
    assert (known.provider, known.complete) == ("none", True)


def test_nodes_say_how_many_domains_there_are(write: Write) -> None:
    known = read(write("nodes.yaml", NODES)).context
    assert known.domains == {"example.net/rack": 2, "x": 1}
    facts = write("facts.yaml", "domains: {x: 7}")
    assert read("nodes.yaml", facts).context.domains == {"example.net/rack": 2, "x": 7}


@pytest.mark.parametrize(
    ("said", "provider"),
    [
        ("gangSchedulingManagement: {schedulerProvider: volcano}", "volcano"),
        ("gangSchedulingManagement: {}", "none"),
        ("leaderElection: {}", "none"),
        ("gangSchedulingManagement: {schedulerProvider: another}", None),
    ],
)
def test_the_configuration_of_lws_names_its_provider(
    write: Write, said: str, provider: str | None
) -> None:
    text = f"apiVersion: config.lws.x-k8s.io/v1alpha1\nkind: Configuration\n{said}\n"
    assert read(write("a.yaml", text)).context.provider == provider
    inner = "".join(f"    {line}\n" for line in text.splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lws, namespace: lws-system}\ndata:\n"
    within = write("b.yaml", f"{head}  controller_manager_config.yaml: |\n{inner}")
    assert read(within).context.provider == provider


def test_objects_beside_join_and_are_not_judged_themselves(
    run: Run, write: Write, workload: str, service: str
) -> None:
    write("service.yaml", service.format(app="other"))
    write(
        "live.yaml",
        f"{workload.format(name='r1')}---\n{service.replace('api', 'b').format(app='x')}",
    )
    assert run("service.yaml").findings == ()
    report = run("service.yaml", given=("live.yaml",))
    assert [str(each.span) for each in report.findings] == ["service.yaml:7"]
    assert report.objects == 1


def test_what_is_wrong_beside_because_of_ours_is_said(
    run: Run, write: Write, workload: str, service: str
) -> None:
    write("set.yaml", workload.format(name="r1"))
    write("live.yaml", service.replace("  name: api", "  name: r1").format(app="r1"))
    report = run("set.yaml", given=("live.yaml",))
    assert ("service-name-collides", "live.yaml:4") in [
        (each.finding.code.id, str(each.span)) for each in report.findings
    ]


def test_the_live_state_of_what_is_judged_does_not_count(
    run: Run, write: Write, workload: str, service: str
) -> None:
    write("k.yaml", f"{workload.format(name='r1')}---\n{service.format(app='r1')}")
    write("live.yaml", f"{workload.format(name='r1')}---\n{service.format(app='old')}")
    codes = [each.finding.code.id for each in run("k.yaml", given=("live.yaml",)).findings]
    assert "selector-matches-nothing" not in codes


def test_what_exists_is_not_missed(run: Run, write: Write, workload: str) -> None:
    queued = workload.format(name="r1").replace(
        "  namespace: llm", "  namespace: llm\n  labels: {kueue.x-k8s.io/queue-name: serving}"
    )
    queue = (
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\n"
        "metadata: {name: other, namespace: llm}\nspec: {clusterQueue: all}\n"
    )
    write("k.yaml", f"{queued}---\n{queue}")
    write("facts.yaml", FACTS)

    def codes(*given: str) -> set[str]:
        return {each.finding.code.id for each in run("k.yaml", given=given).findings}

    assert "queue-unresolved" in codes()
    assert "queue-unresolved" not in codes("facts.yaml")


@pytest.mark.parametrize(
    ("text", "code", "what", "fix"),
    [
        ("verions: {}", "key-unknown", "`verions`", "did you mean `versions`?"),
        ("versions: {keueu: '0.19'}", "key-unknown", "`keueu`", "did you mean `kueue`?"),
        ("versions: {lws: 0.10}", "version-unquoted", "0.10", '"0.10"'),
        ("exists: [LocalQeue/a/b]", "object-reference", "LocalQeue", "`LocalQueue/…`?"),
        ("exists: [LocalQueue]", "object-reference", "LocalQueue", "LocalQueue/namespace/name"),
        ("exists: [Topology/a/b]", "object-reference", "Topology/a/b", "`Topology/name`"),
        ("exists: [zzz]", "object-reference", "zzz", "Kind/namespace/name"),
        ("coldStart: {r1: 21m}", "object-reference", "r1", "Kind/namespace/name"),
        ("coldStart: {LeaderWorkerSet/r1: 21}", "unit-missing", "21", "45m"),
        ("domains: {a b: 2}", "name-invalid", "a b", ""),
        ("lwsSchedulerProvider: kube", "value-unknown", "kube", "none"),
        ("complete: yes", "yaml-boolean", "yes", "true"),
        ("", "yaml-empty", "nothing", ""),
    ],
)
def test_facts_are_read_strictly(write: Write, text: str, code: str, what: str, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        read(write("facts.yaml", text))
    (finding,) = caught.value.findings
    assert finding.code.id == code
    assert what in finding.what and fix in finding.fix


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"kubernets": "1.36"}, "did you mean kubernetes?"),
        ({"istio": "1.2"}, "the names are kubernetes, lws, kueue, volcano, vllm, sglang"),
        ({"lws": "new"}, "`new` is not a version"),
        ({"lws": "x", "kueue": ""}, "kueue: `` is not a version"),
    ],
)
def test_versions_are_known_names_and_versions(versions: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=r"(?s)" + said.replace("?", r"\?")):
        read_versions(versions)
    assert read_versions({"lws": "v0.10.1"}) == {"lws": Release(0, 10, 1)}


def test_a_missing_file_is_said_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="nowhere"):
        read(str(tmp_path / "nowhere.yaml"))


def test_completeness_counts_for_a_single_set_alone(run: Run, write: Write, workload: str) -> None:
    facts = write("facts.yaml", "complete: true")
    pod = workload.replace(
        "      spec:\n        c", "      spec:\n        serviceAccountName: sa\n        c"
    )
    write("a/k.yaml", pod.format(name="r1"))
    write("b/k.yaml", pod.format(name="r1").replace("replicas: 2", "replicas: 3"))
    code = "pod-needs-missing-object"
    assert code in [each.finding.code.id for each in run("a", given=(facts,)).findings]
    assert code not in [each.finding.code.id for each in run("a").findings]
    assert code not in [each.finding.code.id for each in run("a", "b", given=(facts,)).findings]
