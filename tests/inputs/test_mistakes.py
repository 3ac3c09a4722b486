"""What people get wrong in a fleet file: one mistake, one finding, with its place and what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gangform.inputs.translate
from gangform.findings import CODES, Finding
from gangform.inputs import custom
from gangform.inputs.load import LoadError, load_text
from gangform.inputs.model import ModelProfile

GOOD = (Path(__file__).parent / "fleet.yaml").read_text()


def failure(text: str) -> LoadError:
    with pytest.raises(LoadError) as caught:
        load_text(text)
    return caught.value


def one(text: str) -> tuple[Finding, str]:
    error = failure(text)
    assert len(error.findings) == 1, str(error)
    return error.findings[0], error.spans.where(error.findings[0])


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


WRONG = [
    ("tensor: 8", "tensr: 8", "key-unknown", "servings[0].parallelism.tensr", "`tensor`"),
    (
        "groups: 2",
        "groups: 2\n    max_surge: 1",
        "key-unknown",
        "servings[0].max_surge",
        "maxSurge",
    ),
    (
        "foundation: all",
        "foundation: al",
        "value-unknown",
        "cluster.foundation",
        "`foundation: all`",
    ),
    ("{tensor: 8, pipeline: 2}", "auot", "value-unknown", "servings[0].parallelism", "auto"),
    ("{tensor: 8, pipeline: 2}", "8", "type-wrong", "servings[0].parallelism", "{tensor: 8"),
    ("groups: 2", 'groups: "2"', "type-wrong", "servings[0].groups", "groups: 2` without quotes"),
    ("model: deepseek-r1", "model: 7", "type-wrong", "servings[0].model", '"7"'),
    ("model: deepseek-r1", "model: []", "type-wrong", "servings[0].model", "deepseek-r1"),
    ("hardware: h100-8x", "hardware: 8", "type-wrong", "cluster.pools.h100.hardware", '"8"'),
    ("    context: 32768\n", "", "field-missing", "servings[0].context", "`context: 32768`"),
    ("tensor: 8", "tensor: 0", "value-out-of-range", "servings[0].parallelism.tensor", "tensor: 1"),
    ('lws: "0.10"', "lws: 0.10", "version-unquoted", "cluster.versions.lws", 'lws: "0.10"'),
    ('"0.32.0"', '"new"', "version-invalid", "servings[0].engine.version", '"0.32.0"'),
    ("namespace: llm", "namespace: LLM_x", "name-invalid", "servings[0].namespace", "`llm-x`"),
    ("namespace: llm", r'namespace: "llm\n"', "name-invalid", "servings[0].namespace", "`llm"),
    ("groups: 2", "groups: 2\n    coldStart: 30", "unit-missing", "servings[0].coldStart", '"45m"'),
    (
        "groups: 2",
        "groups: 2\n    coldStart: soon",
        "not-a-quantity",
        "servings[0].coldStart",
        '"45m"',
    ),
    ("version: 1\n", "version: 2\n", "value-unknown", "version", "`version: 1`"),
    (
        "version: 1\n",
        "version: 1\nmodels: []\n",
        "key-unknown",
        "models",
        "profiles/models/NAME.yaml",
    ),
    ("version: 1\n", "", "field-missing", "version", "`version: 1`"),
    (
        "model: deepseek-r1",
        "model: deepseek-r2",
        "reference-unknown",
        "servings[0].model",
        "deepseek-r1",
    ),
    ("h100-8x", "h100-x8", "reference-unknown", "cluster.pools.h100.hardware", "h100-8x"),
    ("pool: h100", "pool: h10", "reference-unknown", "servings[0].pool", "h100"),
    (
        "groups: 2",
        "groups: 2\n    clusters: [prod]",
        "reference-unknown",
        "servings[0].clusters[0]",
        "prod-a",
    ),
    (
        "groups: 2",
        "groups: 2\n    clusters: []",
        "serving-without-cluster",
        "servings[0].clusters",
        "name",
    ),
    ("- name: deepseek-r1", "- name: foundation", "name-reserved", "servings[0].name", "call"),
    ("    groups: 2\n", "", "groups-or-autoscaling", "servings[0]", "groups: 2"),
    ("cluster:\n", "clutser:\n", "key-unknown", "clutser", "`cluster`"),
    (
        "pools:\n    h100: {hardware: h100-8x, nodes: 28}",
        "pools: {}",
        "value-empty",
        "cluster.pools",
        "h100",
    ),
]


@pytest.mark.parametrize(("old", "new", "code", "place", "fix"), WRONG)
def test_one_mistake_makes_one_finding(old: str, new: str, code: str, place: str, fix: str) -> None:
    finding, where = one(changed(old, new))
    assert finding.code.id == code
    assert re.fullmatch(rf"gangform\.yaml:\d+: {re.escape(place)}", where)
    assert fix in finding.fix


INNER = [
    ("rollout: {maxSurge: 25%}", "percent-of-groups", "maxSurge: 1"),
    ("restartPolicy: Default", "restart-policy-word", "RecreateGroupAfterStart"),
    ("restartPolicy: RecreateGroupOnHostFailure", "restart-policy-word", "RecreateGroupAfterStart"),
    ("weights: {source: hub, storageClass: x}", "weights-contradict", "`storageClass`"),
    (
        "weights: {source: nodePath, path: /m, downloadBandwidth: 1GiB/s}",
        "weights-contradict",
        "`downloadBandwidth`",
    ),
    ('qualified: {date: 2026-11-02, engine: "0.33.0"}', "yaml-date", '"2026-11-02"'),
    ('qualified: {date: "2026-11-02", engine: 0.33}', "version-unquoted", '"0.33"'),
    ("weights: {source: claim}", "weights-incomplete", "`claim: …`"),
    ("weights: {readBandwidth: 0B/s}", "bandwidth-zero", "2GiB/s"),
    ("patches: [{kind: Service}]", "patch-form", "merge"),
    ("pods: {labels: {a: 1}}", "type-wrong", '`a: "1"`'),
    ("pods: {env: [3]}", "type-wrong", "{key: value}"),
    ("pods: {affinity: {a: 1.5}}", "type-wrong", '"1.5"'),
    ("pods: {imagePullSecrets: a}", "type-wrong", "[a]"),
    ("network: {clients: [], scrapers: [{}]}", "value-empty", "clients"),
    ("engine: {version: 1}", "yaml-duplicate-key", ""),
    ('servedModelName: ""', "text-not-one-line", "servedModelName"),
    ("servedModelName: $(HOME)", "text-expands", "`$(`"),
    ("pendingAlertAfter: 0s", "quantity-zero", "pendingAlertAfter"),
    ("coldStart: 0s", "quantity-zero", "coldStart"),
    ('pods: {resources: {cpu: "0"}}', "quantity-zero", "cpu"),
    ("pods: {resources: {sharedMemory: 0Gi}}", "quantity-zero", "sharedMemory"),
    ("weights: {source: perPod, size: 0Gi}", "quantity-zero", "size"),
    ("topology: [x]", "type-wrong", "topology: {level"),
    ("weights: {source: hub, secret: hub}", "key-unknown", "`token: {name: hub-token}`"),
    ("weights: {source: perPod, size: 2000Gb}", "not-a-quantity", '`size: "2000G"`'),
    ("pods: {resources: {memory: 26 GiB}}", "not-a-quantity", '`memory: "26Gi"`'),
    ("pods: {imagePullSecrets: [{name: x}]}", "type-wrong", "`x`"),
]


@pytest.mark.parametrize(("line", "code", "fix"), INNER)
def test_a_wrong_line_in_a_serving(line: str, code: str, fix: str) -> None:
    finding, where = one(changed("    groups: 2\n", f"    groups: 2\n    {line}\n"))
    assert finding.code.id == code, finding.what
    assert where.startswith("gangform.yaml:")
    assert fix in finding.fix


def test_both_groups_and_autoscaling() -> None:
    finding, _ = one(changed("groups: 2", "groups: 2\n    autoscaling: {min: 1, max: 2}"))
    assert finding.code.id == "groups-or-autoscaling"
    finding, where = one(changed("groups: 2", "autoscaling: {min: 3, max: 2}"))
    assert finding.code.id == "autoscaling-bounds" and where.endswith("autoscaling.max")


def test_a_union_with_a_unit_says_all_that_is_allowed() -> None:
    finding, _ = one(
        changed("foundation: all", "foundation: all\n  kueue: {waitForPodsReady: soon}")
    )
    assert finding.code.id == "not-a-quantity"
    assert "disabled, unknown" in finding.what


def test_an_inline_model_speaks_about_its_own_fields() -> None:
    model = "model: {name: x, repository: me/x, weights: fp9, checkpoint: 600G, contextLimit: 5}"
    finding, where = one(changed("model: deepseek-r1", model))
    assert finding.code.id == "value-unknown" and where.endswith(": servings[0].model.weights")
    finding, where = one(changed("model: deepseek-r1", model.replace("fp9", "fp8")))
    assert finding.code.id == "model-undescribed" and where.endswith(": servings[0].model")
    assert "weightsPerGpu" in finding.fix


def test_a_null_deletes_in_a_merge_patch_only() -> None:
    load_text(
        changed("groups: 2", "groups: 2\n    patches: [{kind: Service, merge: {spec: {a: null}}}]")
    )
    assert one(changed("groups: 2", "groups: null"))[0].code.id == "yaml-empty"


ODD = [
    ("", "yaml-empty"),
    ("# nothing\n", "yaml-empty"),
    ("[]\n", "yaml-one-object"),
    ("version: 1\n", "fleet-without-cluster"),
    ("version: 1\nclusters: []\n", "fleet-without-cluster"),
    ("version: 1\nclusters: 3\n", "entry-wrong"),
    ("version: 1\nclusters: [3]\n", "entry-wrong"),
    ("version: 1\ncluster: nowhere\n", "reference-unknown"),
    (GOOD + "  - 3\n", "entry-wrong"),
    (GOOD + "  - deepseek-r1\n", "entry-wrong"),
    (GOOD + "clusters: [prod-a]\n", "entry-wrong"),
    (GOOD[: GOOD.index("servings")] + "servings: {a: 1}\n", "entry-wrong"),
]


@pytest.mark.parametrize(("text", "code"), ODD)
def test_odd_files_are_findings(text: str, code: str) -> None:
    error = failure(text)
    assert code in [found.code.id for found in error.findings]
    assert all(error.spans.where(found).startswith("gangform.yaml:") for found in error.findings)


def test_every_reason_of_a_validator_is_a_code() -> None:
    package = Path(gangform.inputs.translate.__file__).parents[1]
    source = "\n".join(path.read_text() for path in sorted(package.rglob("*.py")))
    raised = set(re.findall(r'PydanticCustomError\(\s*"([^"]+)"', source))
    assert raised == set(custom.CUSTOM)
    assert raised <= set(CODES)
    assert source.count("PydanticCustomError(") == len(
        re.findall(r'PydanticCustomError\(\s*"[^"]+"', source)
    )


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("weights: {source: nodePath, path: models}", "servings[0].weights.path"),
        ("weights: {source: claim, claim: m, path: a/../b}", "servings[0].weights.path"),
        ("weights: {source: claim, claim: m, path: ''}", "servings[0].weights.path"),
        ("weights: {source: claim, claim: m, path: -m}", "servings[0].weights.path"),
        ("weights: {source: claim, claim: m, path: $(HOME)}", "servings[0].weights.path"),
        ('weights: {source: claim, claim: m, path: "a\\nb"}', "servings[0].weights.path"),
        ("weights: {source: nodePath, path: /}", "servings[0].weights.path"),
        ("weights: {source: nodePath, path: //etc/./x}", "servings[0].weights.path"),
        ("weights: {source: nodePath, path: /proc}", "servings[0].weights.path"),
        ("weights: {source: nodePath, path: /var/lib}", "servings[0].weights.path"),
        ("weights: {source: nodePath, path: /var/lib/kubelet/pods}", "servings[0].weights.path"),
    ],
)
def test_a_path_that_no_volume_may_have_is_refused(text: str, field: str) -> None:
    finding, where = one(changed("groups: 2", f"groups: 2\n    {text}"))
    assert finding.code.id == "path-refused" and where.endswith(f": {field}")
    assert "absolute" in finding.fix


@pytest.mark.parametrize(
    "text",
    [
        'pods: {labels: {"a b": c}}',
        "pods: {labels: {x: " + "y" * 80 + "}}",
        'pods: {nodeSelector: {x: "y z"}}',
        'pods: {annotations: {"a b": c}}',
    ],
)
def test_a_label_that_no_object_may_have_is_refused(text: str) -> None:
    finding, where = one(changed("groups: 2", f"groups: 2\n    {text}"))
    assert finding.code.id == "name-invalid" and ": servings[0].pods." in where


@pytest.mark.parametrize(
    ("line", "code", "fix"),
    [
        ('metric: "a b"', "metric-name-invalid", "`a_b`"),
        ('metric: "x{} or y"', "metric-name-invalid", "`x_or_y`"),
        ('metric: "9"', "metric-name-invalid", "`queue_length`"),
        ("selector: {a.b/c: d}", "series-label-invalid", "underscores"),
        ("selector: {__name__: up}", "series-label-invalid", "underscores"),
        ("selector: {a: b c}", "name-invalid", ""),
    ],
)
def test_what_an_autoscaler_reads_is_a_series(line: str, code: str, fix: str) -> None:
    asked = "autoscaling: {min: 2, max: 4, metric: vllm:waiting, selector: {tier: gold}}"
    load_text(changed("groups: 2", asked))
    finding, where = one(changed("groups: 2", f"autoscaling: {{min: 2, max: 4, {line}}}"))
    assert finding.code.id == code
    assert ": servings[0].autoscaling." in where
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('kubeStateMetricsJob: ""', "text-not-one-line"),
        ('kubeStateMetricsJob: "a\\nb"', "text-not-one-line"),
        ("runbookBase: runbooks.example.com", "url-invalid"),
        ('runbookBase: "https://{{ .x }}"', "url-invalid"),
        ('runbookBase: "https://a b"', "url-invalid"),
    ],
)
def test_what_alerts_hold_is_neither_a_template_nor_a_query(line: str, code: str) -> None:
    good = "kubeStateMetricsJob: ksm, runbookBase: 'https://r.example.com/a?b=c#'"
    load_text(changed("foundation: all", f"foundation: all\n  monitoring: {{{good}}}"))
    finding, where = one(changed("foundation: all", f"foundation: all\n  monitoring: {{{line}}}"))
    assert finding.code.id == code
    assert ": cluster.monitoring." in where and finding.fix


def test_a_topology_has_sixteen_levels_at_the_most() -> None:
    def pool(count: int) -> str:
        levels = ", ".join(f"l{index}" for index in range(count))
        return changed(
            "{hardware: h100-8x, nodes: 28}", f"{{hardware: h100-8x, levels: [{levels}]}}"
        )

    load_text(pool(16))
    finding, where = one(pool(17))
    assert finding.code.id == "levels-too-many" and where.endswith(".levels")
    assert "name the 16 levels" in finding.fix


@pytest.mark.parametrize("path", ["/mnt/m", "/etcetera", "/var/lib/models", "/data/a b"])
def test_a_folder_for_models_is_taken(path: str) -> None:
    text = changed("groups: 2", f"groups: 2\n    weights: {{source: nodePath, path: {path}}}")
    (serving,) = load_text(text).fleet.servings
    assert serving.weights.path == path


MODEL = """model:
      {name: x, repository: REPOSITORY, weights: bf16, checkpoint: 600G, contextLimit: 40000,
       measured: {weightsPerGpu: 10Gi, kvBytesPerToken: 1024}}"""


@pytest.mark.parametrize("repository", ["-x", '"a b"', "$(HOME)/m", '"a\\nb"', '""'])
def test_a_text_that_names_no_model_is_refused(repository: str) -> None:
    inline = MODEL.replace("REPOSITORY", repository)
    finding, where = one(changed("model: deepseek-r1", inline))
    assert finding.code.id == "model-id-invalid" and where.endswith("[0].model.repository")
    assert "deepseek-ai/DeepSeek-R1" in finding.fix


@pytest.mark.parametrize("repository", ["org/Model-1.5", "/models/r1", "s3://bucket/m", "./m"])
def test_an_id_and_a_path_name_a_model(repository: str) -> None:
    text = changed("model: deepseek-r1", MODEL.replace("REPOSITORY", repository))
    (serving,) = load_text(text).fleet.servings
    assert isinstance(serving.model, ModelProfile)
    assert serving.model.repository == repository


NODE = """hardware:
        {name: x, cpu: "9", memory: 9Gi, ephemeralStorage: 9Gi, rdma: {resource: RDMA},
         gpu: {product: p, count: 8, visibleMemory: 80Gi, resource: GPU}}"""


@pytest.mark.parametrize(
    ("gpu", "rdma", "code", "field"),
    [
        ("gpu", "rdma/ib", "resource-not-extended", "gpu.resource"),
        ("kubernetes.io/gpu", "rdma/ib", "resource-not-extended", "gpu.resource"),
        ("nvidia.com/gpu", "memory", "resource-not-extended", "rdma.resource"),
        ("nvidia.com/gpu", "nvidia.com/gpu", "resource-twice", "rdma.resource"),
    ],
)
def test_devices_have_resources_of_their_own(gpu: str, rdma: str, code: str, field: str) -> None:
    old = "hardware: h100-8x"
    finding, where = one(changed(old, NODE.replace("GPU", gpu).replace("RDMA", rdma)))
    assert finding.code.id == code and where.endswith(f"hardware.{field}")
    load_text(changed(old, NODE.replace("GPU", "amd.com/gpu").replace("RDMA", "rdma/ib")))


def test_a_product_that_no_label_holds_is_refused() -> None:
    shape = (
        "{name: x, gpu: {product: NVIDIA H100, count: 8, visibleMemory: 79Gi}, "
        'cpu: "90", memory: 1600Gi, ephemeralStorage: 3000Gi}'
    )
    load_text(changed("hardware: h100-8x", f"hardware: {shape.replace('A H', 'A-H')}"))
    finding, where = one(changed("hardware: h100-8x", f"hardware: {shape}"))
    assert finding.code.id == "name-invalid" and where.endswith(".hardware.gpu.product")
