"""Sets of roles as they will be: groups of each role, their labels, their names, what scales them."""

from __future__ import annotations

from typing import Any

from gangform.apis.forms import GroupView
from gangform.apis.views import Documents, form_of
from gangform.documents.document import Document, Key

D, L = "disaggregatedset.x-k8s.io/", "leaderworkerset.sigs.k8s.io/"
KIND = "DisaggregatedSet"
ROLE_SCALER = "DisaggregatedSetRoleScaler"


def role(name: str, **changes: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "mine", "team": "a"}}, "spec": {}}
    spec = {
        "replicas": 2,
        "leaderWorkerTemplate": {
            "size": 4,
            "leaderTemplate": template,
            "workerTemplate": template,
        },
    }
    return {"name": name, "metadata": {"labels": {"queue": name}}, "spec": spec, **changes}


def made(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": KIND,
        "metadata": {"name": "pd", "namespace": "llm"},
        "spec": {"roles": [role("prefill"), role("decode")], **spec},
    }


def index(*manifests: dict[str, Any]) -> Documents:
    return Documents(Document(manifest=each, builder="") for each in manifests)


def groups(manifest: dict[str, Any]) -> list[GroupView]:
    return list(index(manifest).groups())


def test_each_role_is_a_set_of_groups() -> None:
    assert [(one.title, one.replicas, one.size) for one in groups(made())] == [
        ("pd/prefill", 2, 4),
        ("pd/decode", 2, 4),
    ]
    decode = groups(made())[1]
    assert decode.at == ("spec", "roles", 1, "spec")
    assert decode.own == ("spec", "roles", 1, "metadata")
    assert decode.leader.path == (*decode.at, "leaderWorkerTemplate", "leaderTemplate")


def test_pods_carry_the_labels_of_their_role() -> None:
    documents = index(made())
    leaders = {D + "name": "pd", D + "role": "decode", L + "worker-index": "0"}
    assert groups(made())[1].selectors.leaders == leaders
    [pod] = documents.pods("llm", leaders)
    assert (pod.role, pod.labels["app"], pod.labels["team"]) == ("leader", "pd-0-decode", "a")
    assert len(documents.pods("llm", {"app": "mine"})) == 0
    assert len(documents.pods("llm", {D + "name": "pd"})) == 4
    assert documents.pods("llm", {L + "name": "pd"}) == []


def test_slices_have_labels_of_their_own() -> None:
    documents = index(made(slices=3))
    assert {one.copies for one in documents.groups()} == {3}
    assert len(documents.pods("llm", {"app": "pd-2-decode"})) == 4
    assert len(documents.pods("llm", {D + "slice": "2", D + "role": "prefill"})) == 2


def test_a_strategy_that_is_absent_surges() -> None:
    absent, partial = role("prefill"), role("decode")
    partial["spec"]["rolloutStrategy"] = {"rollingUpdateConfiguration": {"maxSurge": 1}}
    first, second = groups(made(roles=[absent, partial]))
    assert (first.surge, first.unavailable) == (1, 0)
    assert (second.surge, second.unavailable) == (1, None)
    form = form_of(KIND)
    assert form is not None and form.peak(4, surge=1, unavailable=0) == 5
    assert form.peak(4, surge=0, unavailable=1) == 4


def test_an_external_role_is_scaled_by_its_scaler() -> None:
    outside = role("decode", scaling={"mode": "External"})
    documents = index(made(roles=[role("prefill"), outside]))
    key = Key("disaggregatedset.x-k8s.io", ROLE_SCALER, "llm", "pd-decode")
    [decode] = documents.groups_of(key)
    assert (decode.role, decode.replicas, decode.target) == ("decode", None, key)
    assert len(documents.groups_of(documents.all[0].key)) == 2


def test_what_stands_around_the_name_is_counted() -> None:
    assert groups(made())[0].added == len("-0-6fe1eddd-prefill")
    assert groups(made(slices=11))[0].added == len("-10-6fe1eddd-prefill")


def test_bad_content_reads_as_nothing() -> None:
    assert groups(made(roles="x")) == []
    assert [one.title for one in groups(made(roles=[7, {}]))] == ["pd/0", "pd/1"]
    assert groups(made(slices=10**9))[0].copies == 100


def test_a_set_made_from_one_that_stands_here_is_not_read_again() -> None:
    child = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "pd-0-6fe1eddd-decode",
            "namespace": "llm",
            "ownerReferences": [
                {"apiVersion": "disaggregatedset.x-k8s.io/v1", "kind": KIND, "name": "pd"}
            ],
        },
        "spec": role("decode")["spec"],
    }
    assert len(index(made(), child).groups()) == 2
    assert len(index(child).groups()) == 1
