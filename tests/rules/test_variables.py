"""Variables that somebody fills in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]


def test_no_shell_no_shell_variable(make: Make, refused: Check, accepted: Check) -> None:
    for word in ("--x=$HOST", "${HOST}"):
        wrong = make("set", {"L>C>args": [word]})
        refused("shell-variable-literal", "containers[0].args[0] ~ $(HOST)", wrong)
    accepted("shell-variable-literal", make("set"), make("set", {"L>C>args": ["--cost=5$", "$$A"]}))
    shell = {"L>C>command": ["bash", "-c"], "L>C>args": ["exec vllm serve $MODEL"]}
    accepted("shell-variable-literal", make("set", shell))


def test_no_shell_variable_in_a_value(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("set", {"W>C>env": [{"name": "HF_TOKEN", "value": "$HF_TOKEN"}]})
    refused("shell-variable-in-value", "containers[0].env[0].value", wrong)
    lost = [{"name": "LD_LIBRARY_PATH", "value": "${LD_LIBRARY_PATH}:/usr/local/nvidia/lib64"}]
    refused("shell-variable-in-value", "env[0].value ~ the whole", make("set", {"W>C>env": lost}))
    unset = [{"name": "STREAM", "value": "${STREAM:-true}"}]
    refused("shell-variable-in-value", "env[0].value ~ $(STREAM)", make("set", {"W>C>env": unset}))
    right = make(
        "set", {"W>C>env": [{"name": "A", "value": "$(B)"}, {"name": "P", "value": "a$b"}]}
    )
    accepted("shell-variable-in-value", right)


def test_no_shell_variable_inside_a_value(make: Make, refused: Check, accepted: Check) -> None:
    wrong = [{"name": "OTLP", "value": "http://${HOST_IP}:4317"}]
    refused("shell-variable-in-text", "env[0].value ~ $(HOST_IP)", make("set", {"W>C>env": wrong}))
    for value in ("http://$(HOST_IP):4317", "pa$word", "set -e\necho $HOME\n", "$HOST_IP"):
        fine = make("set", {"W>C>env": [{"name": "A", "value": value}]})
        accepted("shell-variable-in-text", fine)


def test_a_template_for_envsubst_is_told_once(make: Make, refused: Check, accepted: Check) -> None:
    env = [{"name": "A", "value": "$A"}, {"name": "B", "value": "http://${B}:1"}]
    used = {"L>C>args": ["${MODEL}"], "L>C>env": env}
    for blank in ({"W>C>image": "${IMAGE}"}, {"metadata>name": "$NAME"}, {"spec>replicas": "${N}"}):
        template = make("set", {**used, **blank})
        refused("placeholder-left", next(iter(blank)).split(">")[-1], template)
        for code in ("literal", "in-value", "in-text"):
            accepted(f"shell-variable-{code}", template)
    token = {"W>C>env": [{"name": "T", "value": "<your-token>"}]}
    for other in ({"W>C>image": "<image>"}, token):
        refused("shell-variable-literal", "args[0]", make("set", {**used, **other}))


def test_every_reference_is_defined_before(make: Make, refused: Check, accepted: Check) -> None:
    typo = make("set", {"W>C>args": ["--master-addr=$(LWS_LEADER_ADRESS)"]})
    at = "workerTemplate.spec.containers[0].args[0] ~ write $(LWS_LEADER_ADDRESS)"
    refused("variable-undefined", at, typo)
    alone = {"spec>template>spec>containers>0>args": ["$(LWS_GROUP_SIZE)"]}
    refused("variable-undefined", "containers[0].args[0]", make("deployment", alone))
    early = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "1"}]
    refused("variable-undefined", "containers[0].env[0].value", make("set", {"L>C>env": early}))
    accepted("variable-undefined", make("set", {"L>C>env": early[::-1], "L>C>args": ["$(A)"]}))
    accepted(
        "variable-undefined",
        make("set"),
        make("set", {"L>C>args": ["$$(X)", "$(R1_SERVICE_HOST)"]}),
    )
    other = {"L>C>envFrom": [{"configMapRef": {"name": "x"}}], "L>C>args": ["$(X)"]}
    accepted("variable-undefined", make("set", other))
    shell = {"L>C>command": ["sh", "-c"], "L>C>args": ["exec serve"]}
    accepted("variable-undefined", make("set", {**shell, "L>C>args": ["exec serve $(hostname)"]}))
    script = "exec serve --at=$(ENTRY_ADDRESS) --of=$(LWS_GROUP_SIZE)"
    called = {"L>C>command": ["sh", "-c"], "L>C>args": [script]}
    at = "containers[0].args[0] ~ no variable ENTRY_ADDRESS"
    refused("variable-undefined", at, make("set", called))
    given = [{"name": "ENTRY_ADDRESS", "value": "a"}]
    accepted("variable-undefined", make("set", {**called, "L>C>env": given}))
    remark = {**called, "L>C>args": ["# $(ENTRY_ADDRESS)\nexec serve $$(ENTRY_ADDRESS)"]}
    accepted("variable-undefined", make("set", remark))


def test_a_variable_stands_once(make: Make, refused: Check, accepted: Check) -> None:
    def env(*values: str) -> dict[str, Any]:
        return make("set", {"L>C>env": [{"name": "A", "value": value} for value in values]})

    refused("variable-given-twice", "containers[0].env[1].name", env("1", "2"))
    accepted("variable-given-twice", env("1", "1"), env("1"))
    refused("variable-repeated", "containers[0].env[1].name", env("1", "1"))
    accepted("variable-repeated", env("1", "2"), env("1"))
