from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.apis.core import DeploymentForm
from gangform.apis.leaderworkerset import LeaderWorkerSetForm
from gangform.apis.versions import Release
from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Installed
from gangform.inputs.defaults import defaults
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Parallelism, Pods, Resources, Secret, Serving, Weights
from gangform.plan import weights
from gangform.plan.serving import ServingPlan
from gangform.plan.weights import Volume, WeightsPlan
from gangform.units import Bytes

MakeServing = Callable[..., Serving]
MakeModel = Callable[..., ModelProfile]
MakeCluster = Callable[..., Cluster]
MakePlan = Callable[..., ServingPlan]
Codes = Callable[[Iterable[Finding]], list[str]]
Mounts = Callable[..., WeightsPlan]
Faults = Callable[..., list[Finding]]

SET, DEPLOYMENT = LeaderWorkerSetForm(), DeploymentForm()
AT = ("servings", "llm")


@pytest.fixture
def mounts(make_serving: MakeServing, make_model: MakeModel) -> Mounts:
    def plan(form: Any = SET, **asked: Any) -> WeightsPlan:
        serving = make_serving(weights=Weights(**asked))
        return weights.derive(serving, make_model(), form, defaults(1))

    return plan


@pytest.fixture
def faults(make_serving: MakeServing, make_model: MakeModel) -> Faults:
    def check(
        form: Any = SET, storage: int = 1000, lws: Release | None = None, **asked: Any
    ) -> list[Finding]:
        serving = make_serving(weights=Weights(**asked))
        plan = weights.derive(serving, make_model(), form, defaults(1))
        found = weights.check(
            plan,
            serving=serving,
            model=make_model(),
            storage=Bytes.gib(storage),
            form=form,
            lws=lws,
            at=AT,
        )
        return list(found)

    return check


def test_from_the_hub_each_pod_downloads_to_its_own_storage(mounts: Mounts) -> None:
    assert mounts(source="hub") == WeightsPlan(
        reference="example/small",
        cache_home="/cache",
        token=None,
        volumes=(Volume(name="cache", kind="empty", mount="/cache"),),
        on_pod_storage=Bytes.gib(100),
    )


def test_a_token_is_carried_as_secret_and_key(mounts: Mounts) -> None:
    token = Secret(name="hub", key="word")
    assert mounts(source="hub", token=token).token == ("hub", "word")
    assert mounts(source="perPod", token=token).token == ("hub", "word")
    assert mounts(source="hub", token=Secret(name="hub")).token == ("hub", "token")


@pytest.mark.parametrize(
    ("path", "inside"),
    [(None, "/models"), ("small", "/models/small"), ("/a/b/", "/models/a/b"), ("/", "/models")],
)
def test_a_claim_is_mounted_read_only_and_the_path_lies_inside(
    mounts: Mounts, path: str | None, inside: str
) -> None:
    plan = mounts(source="claim", claim="pvc", path=path)
    assert plan == WeightsPlan(
        reference=inside,
        cache_home=None,
        token=None,
        volumes=(
            Volume(name="models", kind="claim", mount="/models", reference="pvc", read_only=True),
        ),
        on_pod_storage=Bytes(0),
    )


def test_a_folder_of_the_node_is_mounted_as_the_model_itself(mounts: Mounts) -> None:
    plan = mounts(source="nodePath", path="/mnt/small")
    assert plan.reference == "/models"
    assert plan.cache_home is None
    assert plan.on_pod_storage == 0
    assert plan.volumes == (
        Volume(name="models", kind="host", mount="/models", reference="/mnt/small", read_only=True),
    )


@pytest.mark.parametrize(("form", "kind"), [(SET, "template"), (DEPLOYMENT, "ephemeral")])
def test_a_claim_per_pod_is_made_by_the_set_or_lives_with_the_pod(
    mounts: Mounts, form: Any, kind: Any
) -> None:
    plan = mounts(form, source="perPod", storage_class="nvme")
    assert plan == WeightsPlan(
        reference="example/small",
        cache_home="/cache",
        token=None,
        volumes=(
            Volume(name="cache", kind=kind, mount="/cache", size=Bytes.gib(110), reference="nvme"),
        ),
        on_pod_storage=Bytes(0),
    )


@pytest.mark.parametrize(
    ("declared", "checkpoint", "size"),
    [
        (None, 100 * 2**30, 110 * 2**30),
        (None, 10 * 2**30, 11 * 2**30),
        (None, 10 * 2**30 + 1, 12 * 2**30),
        (None, 1, 2**30),
        (7, 100, 7),
    ],
)
def test_a_claim_has_a_tenth_to_spare_in_whole_gib(
    declared: int | None, checkpoint: int, size: int
) -> None:
    given = None if declared is None else Bytes(declared)
    assert weights.claim_size(given, Bytes(checkpoint), Fraction(11, 10)) == size


@settings(deadline=None)
@given(st.integers(1, 2**50), st.fractions(1, 3, max_denominator=100))
def test_a_derived_claim_holds_the_checkpoint_and_wastes_less_than_a_gib(
    checkpoint: int, margin: Fraction
) -> None:
    size = weights.claim_size(None, Bytes(checkpoint), margin)
    assert size % 2**30 == 0
    assert checkpoint * margin <= size < checkpoint * margin + 2**30


# ── findings ─────────────────────────────────────────────────────────────────────────────────────


def test_a_download_that_does_not_fit_the_pods_storage_is_refused(
    faults: Faults, codes: Codes
) -> None:
    assert faults(source="hub", storage=100) == []
    (found,) = faults(source="hub", storage=99)
    assert codes([found]) == ["checkpoint-exceeds-storage"]
    assert found.at.path == (*AT, "weights", "source")
    assert found.what == (
        "each pod downloads 100.0 GiB and has 99.0 GiB of ephemeral storage: short by 1.0 GiB"
    )
    assert found.fix.endswith("raise `pods.resources.ephemeralStorage` to 100Gi")


@pytest.mark.parametrize(
    "asked",
    [
        {"source": "claim", "claim": "pvc"},
        {"source": "nodePath", "path": "/mnt"},
        {"source": "perPod"},
    ],
)
def test_what_is_not_downloaded_needs_no_storage(faults: Faults, asked: dict[str, Any]) -> None:
    assert faults(storage=1, **asked) == []


@pytest.mark.parametrize("form", [SET, DEPLOYMENT])
def test_a_claim_per_pod_that_is_too_small_is_refused(
    faults: Faults, codes: Codes, form: Any
) -> None:
    assert faults(form, source="perPod", size=Bytes.gib(100)) == []
    (found,) = faults(form, source="perPod", size=Bytes(100 * 2**30 - 1))
    assert codes([found]) == ["claim-smaller-than-checkpoint"]
    assert found.at.path == (*AT, "weights", "size")
    assert found.fix == "leave `size` out, or use at least 100Gi"


def test_claims_of_a_set_need_a_release_that_knows_them(faults: Faults, codes: Codes) -> None:
    (found,) = faults(source="perPod", lws=Release(0, 7))
    assert codes([found]) == ["field-newer-than-release"]
    assert found.what.endswith("exist from LeaderWorkerSet 0.8, the cluster has 0.7")
    assert faults(source="perPod", lws=Release(0, 8)) == []
    assert faults(source="perPod", lws=None) == []
    assert faults(DEPLOYMENT, source="perPod", lws=Release(0, 7)) == []
    assert faults(source="hub", lws=Release(0, 7)) == []


def test_the_plan_asks_with_the_storage_that_the_pod_requests(
    make_plan: MakePlan, codes: Codes
) -> None:
    small = Pods(resources=Resources(ephemeral_storage=Bytes.gib(50)))
    assert "checkpoint-exceeds-storage" in codes(make_plan(pods=small).findings)
    assert "checkpoint-exceeds-storage" not in codes(make_plan().findings)


def test_the_plan_asks_with_the_release_of_the_cluster(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    old = make_cluster(versions=Installed(kubernetes="1.30", lws="0.7"))
    per_pod = Weights(source="perPod")
    assert "field-newer-than-release" in codes(make_plan(on=old, weights=per_pod).findings)
    one = make_plan(on=old, weights=per_pod, parallelism=Parallelism(tensor=8))
    assert "field-newer-than-release" not in codes(one.findings)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, ["each pod downloads", "without a token"]),
        ({"token": Secret(name="hub")}, ["each pod downloads"]),
        ({"source": "perPod"}, ["without a token"]),
        ({"source": "claim", "claim": "models"}, []),
    ],
)
def test_a_download_says_what_it_costs_and_needs(
    make_serving: MakeServing, make_model: MakeModel, asked: dict[str, Any], said: list[str]
) -> None:
    found = list(weights.remarks(make_serving(weights=Weights(**asked)), make_model()))
    assert len(found) == len(said)
    assert all(text in remark for text, remark in zip(said, found, strict=True))
