"""What is hidden as a secret, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gangform.documents.secrets import HIDDEN, without_secrets


def variable(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value}


@pytest.mark.parametrize(
    "node",
    [
        variable("HF_TOKEN", "LEAK"),
        variable("VLLM_API_KEY", "LEAK"),
        variable("AWS_SECRET_ACCESS_KEY", "LEAK"),
        variable("DB_PASS", "LEAK"),
        variable("REDIS_PASSWORD", "12345678"),
        variable("secretKey", "LEAK"),
        variable("TOKENS_JSON", '{"a": "LEAK"}'),
        variable("DB_URL", "postgres://user:LEAK@db/x"),
        variable("ANYTHING", "hf_LEAKLEAKLEAK"),
        variable("ANYTHING", "-----BEGIN RSA PRIVATE KEY-----\nLEAK\n"),
        ["vllm", "serve", "m", "--api-key", "LEAK", "LEAK2", "--seed", "1"],
        ["--api-key=LEAK"],
        ["--ssl-keyfile-password", "LEAK"],
        ["curl -H 'Authorization: Bearer LEAK' host"],
        ["export HF_TOKEN=LEAK; A_PASSWORD='LEAK x' vllm serve m --hf-token LEAK"],
    ],
)
def test_a_secret_is_hidden(node: Any) -> None:
    hidden = without_secrets(node)
    text = json.dumps(hidden)
    assert HIDDEN in text
    assert "LEAK" not in text and "12345678" not in text
    assert without_secrets(hidden) == hidden


@pytest.mark.parametrize(
    "node",
    [
        variable("HF_TOKEN", "$(TOKEN)"),
        variable("HF_TOKEN", ""),
        variable("HF_TOKEN_PATH", "/var/run/token"),
        variable("GOOGLE_APPLICATION_CREDENTIALS", "/etc/key.json"),
        variable("MAX_TOKENS", "4096"),
        variable("KVC_PER_TOKEN", "8"),
        variable("TOKENIZERS_PARALLELISM", "false"),
        variable("AUTH_MODE", "oidc"),
        variable("NCCL_SOCKET_IFNAME", "eth0"),
        ["--max-num-batched-tokens", "8192", "--tokenizer-mode", "mistral"],
        ["--return-tokens-as-token-ids", "deepseek-ai/DeepSeek-R1"],
        ["--api-key", "$(VLLM_API_KEY)"],
        ["vllm serve m --hf-token $HF_TOKEN --port=8000"],
        ["http://host:8000/v1", "image@sha256:abc"],
    ],
)
def test_a_setting_is_not(node: Any) -> None:
    assert without_secrets(node) == node
