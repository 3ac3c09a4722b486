"""What is still to be filled in, and where nobody else speaks of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangform.apis.views import Documents
from gangform.documents.document import Document
from gangform.documents.placeholders import placeholder
from gangform.rules.rule import Context, judge

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
IMAGE = "workerTemplate.spec.containers[0].image"
LEFT = "placeholder-left"


@pytest.mark.parametrize(
    "image", ["REGISTRY/IMAGE", "${IMAGE}", "<your image>", "r.example/{user}/a:1", "V_IMAGE"]
)
def test_an_image_is_filled_in(make: Make, refused: Check, accepted: Check, image: str) -> None:
    wrong = make("set", {"W>C>image": image})
    refused("placeholder-left", IMAGE, wrong)
    accepted("image-name-invalid", wrong)
    accepted("placeholder-in-value", wrong)


def test_names_and_numbers_are_filled_in(make: Make, refused: Check, accepted: Check) -> None:
    refused("placeholder-left", "metadata.name", make("set", {"metadata>name": "__NAME__"}))
    label = {"metadata>labels": {"app": "${APP:-x}"}}
    refused("placeholder-left", "metadata.labels.app", make("set", label))
    accepted("metadata-refused", make("set", label))
    most = make("scaler", {"spec>maxReplicas": "<max>"})
    refused("placeholder-left", "spec.maxReplicas", most)
    accepted("scale-bounds-refused", most)
    refused(
        "placeholder-left",
        "serviceAccountName",
        make("set", {"L>spec>serviceAccountName": "YOUR-ACCOUNT"}),
    )


def test_values_are_filled_in(make: Make, refused: Check, accepted: Check) -> None:
    for value in ("<your-hf-token>", "your-token-here", "/pd/V_MODEL_NAME/1", "http://<host>:80"):
        env = [{"name": "A", "value": value}]
        refused("placeholder-in-value", "containers[0].env[0].value", make("set", {"L>C>env": env}))
    place = [{"name": "shm", "mountPath": "/models/${MODEL}"}]
    refused(
        "placeholder-in-value",
        "volumeMounts[0].mountPath",
        make("set", {"L>C>volumeMounts": place}),
    )


def test_a_secret_is_filled_in(refused: Check, accepted: Check) -> None:
    def secret(token: str) -> dict[str, Any]:
        metadata = {"name": "hub", "namespace": "llm"}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": {"t": token},
        }

    for token in ("<your-token>", "REPLACE_WITH_TOKEN"):
        refused("placeholder-in-value", "stringData.t", secret(token))
    for token in ("hf_abc", "${HF_TOKEN}", "a: <b>\nc: <your-d>\n"):
        accepted("placeholder-in-value", secret(token))


def test_what_is_meant_is_none(make: Make, accepted: Check) -> None:
    for value in ("<think>", "a<b", "TODO list", "$(B)", "bearer", "NCCL_V_1", "{a}", "yourself"):
        env = [{"name": "A", "value": value}]
        accepted("placeholder-in-value", make("set", {"L>C>env": env}))
        accepted("placeholder-left", make("set", {"L>C>env": env}))
    shell = {
        "L>C>command": ["bash", "-c"],
        "L>C>args": ["exec vllm serve ${MODEL} --chat-template '<your>'"],
        "metadata>annotations": {"note": "see <https://example.com> or <b>here</b>"},
    }
    accepted("placeholder-left", make("set", shell))
    accepted("placeholder-in-value", make("set", shell))
    accepted("placeholder-left", make("rules"), make("keda"), make("pool"))


def test_the_same_name_is_said_once(make: Make) -> None:
    changes = {"metadata>name": "<name>", "metadata>labels": {"app": "<name>"}}
    documents = Documents([Document(manifest=make("service", changes), builder="")])
    found = [each for each in judge(documents, Context()) if each.code.id == LEFT]
    assert len(found) == 1


def test_a_regular_expression_has_groups() -> None:
    assert placeholder(("spec", "value"), "(?P<name>[a-z]+)") is None
    assert placeholder((), "<name>") is None
