"""What Secrets and ConfigMaps hold."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

Check = Callable[..., None]


def holding(kind: str, **parts: Any) -> dict[str, Any]:
    metadata = {"name": "hub", "namespace": "llm"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **parts}


@pytest.mark.parametrize("value", ["$HF_TOKEN", "<base64>", "aGVsbG8", "aGVs bG8=", "hf_äöü"])
def test_what_is_bytes_is_base64(refused: Check, accepted: Check, value: str) -> None:
    wrong = holding("Secret", data={"token": value})
    refused("data-refused", "data.token ~ under stringData", wrong)
    refused(
        "data-refused", "binaryData.a ~ no base64", holding("ConfigMap", binaryData={"a": value})
    )
    accepted("data-refused", holding("Secret", stringData={"token": value}))
    accepted("data-refused", holding("ConfigMap", data={"token": value}))


def test_what_is_encrypted_is_another_object(accepted: Check) -> None:
    hidden = {"token": "ENC[AES256_GCM,data:abc,type:str]"}
    accepted("data-refused", holding("Secret", data=hidden, sops={"mac": "ENC[x]"}))


@pytest.mark.parametrize("value", ["aGVsbG8=", "aGVs\nbG8=\n", "", None])
def test_what_the_server_decodes_is_taken(accepted: Check, value: str | None) -> None:
    accepted("data-refused", holding("Secret", data={"token": value}))
    accepted("data-refused", holding("ConfigMap", binaryData={"token": value}))
    accepted("data-refused", holding("ConfigMap"), holding("Secret", data=None))


@pytest.mark.parametrize("value", [8000, True, ["a"], {"a": "b"}])
def test_values_are_texts(refused: Check, accepted: Check, value: Any) -> None:
    for kind, part in (("Secret", "data"), ("Secret", "stringData"), ("ConfigMap", "data")):
        refused(
            "data-refused", f"{part}.PORT ~ is no text", holding(kind, **{part: {"PORT": value}})
        )
    accepted("data-refused", holding("ConfigMap", data={"PORT": "8000", "OK": "true"}))


@pytest.mark.parametrize("key", ["a b", "a/b", "..", "..a", "", "a" * 254, "ä"])
def test_keys_may_be_names_of_files(refused: Check, accepted: Check, key: str) -> None:
    refused("data-refused", " ~ the key", holding("ConfigMap", data={key: "x"}))
    accepted(
        "data-refused",
        holding("ConfigMap", data={"a.b_c-D.yaml": "x", ".env": "x", "a" * 253: "x"}),
    )


def test_all_values_together_are_a_mebibyte_at_the_most(refused: Check, accepted: Check) -> None:
    most = 1024 * 1024
    halves = {"a": "x" * (most // 2), "b": "ä" * (most // 4)}
    accepted("data-too-large", holding("ConfigMap", data=halves))
    refused(
        "data-too-large",
        f"data ~ {most + 1} bytes",
        holding("ConfigMap", data={**halves, "c": "x"}),
    )
    coded = b64encode(b"x" * most).decode()
    accepted("data-too-large", holding("Secret", data={"a": coded}, stringData={"a": "x" * most}))
    refused("data-too-large", "data ~ several", holding("Secret", data={"a": coded, "b": "eA=="}))
    sealed = {"a": coded, "b": "eA=="}
    accepted("data-too-large", holding("Secret", data=sealed, sops={"mac": "ENC[x]"}))
