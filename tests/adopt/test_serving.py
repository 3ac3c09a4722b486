"""A living set as a serving: what every field becomes, and what is said of what none takes."""

from __future__ import annotations

import pytest
from tests.adopt.conftest import LIBRARY, Adopt, Object, container_of, leader_spec, living

from gangform.adopt.fleet import Wishes, adopt
from gangform.findings import InputError


def test_a_set_by_hand_becomes_a_short_serving(adopted: Adopt) -> None:
    made = adopted(living())
    serving = made.serving
    assert (serving.name, serving.namespace, serving.model, serving.pool) == (
        "r1", "llm", "deepseek-r1", "h100-8x",
    )  # fmt: skip
    assert (serving.groups, serving.context, serving.engine.version) == (3, 16384, "0.32.0")
    assert serving.parallelism != "auto"
    assert (serving.parallelism.tensor, serving.parallelism.pipeline) == (8, 2)
    assert serving.engine.args == ("--enable-prefix-caching",)
    assert serving.engine.image is None
    assert serving.served_model_name == "deepseek-ai/DeepSeek-R1"
    assert serving.restart_policy == "RecreateGroupOnPodRestart"
    assert serving.admission.backend == "none"
    # The derived rollout is the same; shared memory, requests, a label, a toleration and a variable are not.
    assert serving.rollout.max_surge is None
    pods = serving.pods
    assert str(pods.resources.shared_memory) == "64Gi"
    assert (str(pods.resources.cpu), str(pods.resources.memory)) == ("64", "1000Gi")
    assert pods.labels == {"team": "search"}
    assert pods.node_selector == {"team": "search"}
    assert [one["key"] for one in pods.tolerations] == ["team"]
    assert pods.env == ({"name": "TEAM", "value": "search"},)
    assert pods.volumes == pods.volume_mounts == ()


def test_what_differs_is_said_once_for_leader_and_workers(adopted: Adopt) -> None:
    made = adopted(living())
    assert made.says(
        "spec.leaderWorkerTemplate.*Template.spec.terminationGracePeriodSeconds: - -> "
    )
    assert made.says("containers[engine].name: vllm -> engine")
    assert not made.says("uid") and not made.says("last-applied")


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("deepseek-ai/DeepSeek-R1", "deepseek-r1"),
        ("/mnt/models/DeepSeek-R1/", "deepseek-r1"),
        ("Qwen/Qwen3-32B", "qwen3-32b"),
        ("meta-llama/Llama-3.1-405B-Instruct", "llama-3.1-405b"),
    ],
)
def test_the_model_is_found_by_its_id_or_its_folder(
    adopted: Adopt, model: str, profile: str
) -> None:
    manifest = living()
    container_of(manifest)["command"][2] = model
    assert adopted(manifest).serving.model == profile


def test_an_unknown_model_is_named_with_what_is_near(adopted: Adopt) -> None:
    manifest = living()
    container_of(manifest)["command"][2] = "deepseek-ai/DeepSeek-R1-0528"
    with pytest.raises(InputError, match="reference-unknown"):
        adopted(manifest)
    said = adopt([manifest], Wishes(), LIBRARY)
    assert "it may be deepseek-r1, which loads deepseek-ai/DeepSeek-R1" in said
    made = adopted(manifest, model="deepseek-r1")
    assert made.serving.model == "deepseek-r1"
    assert made.says(
        "model deepseek-r1 loads deepseek-ai/DeepSeek-R1; the set loads deepseek-ai/DeepSeek-R1-0528"
    )
    assert not adopted(living()).says("the set loads")


@pytest.mark.parametrize(
    ("env", "mount", "path"),
    [
        ([], "/root/.cache/huggingface", "hub/models--"),
        ([], "/root/.cache", "huggingface/hub/models--"),
        ([{"name": "HF_HOME", "value": "/hf"}], "/hf", "hub/models--"),
    ],
)
def test_downloads_that_a_claim_keeps_are_warned_of_above_the_weights(
    adopted: Adopt, env: list[Object], mount: str, path: str
) -> None:
    manifest = living()
    engine = container_of(manifest)
    engine["env"] += env
    engine["volumeMounts"] += [{"name": "hf", "mountPath": mount}]
    volume = {"name": "hf", "persistentVolumeClaim": {"claimName": "hub-cache"}}
    leader_spec(manifest)["volumes"] += [volume]
    made = adopted(manifest)
    assert made.serving.weights.source == "hub"
    lines = made.text.splitlines()
    at = lines.index("    weights: {source: hub}")
    assert f"keeps its downloads on claim hub-cache, mounted at {mount}" in lines[at - 2]
    claim = f"{{source: claim, claim: hub-cache, path: {path}deepseek-ai--DeepSeek-R1/snapshots/"
    assert claim in lines[at - 1]


@pytest.mark.parametrize(
    ("env", "volume"),
    [
        ([], {"emptyDir": {}}),
        (
            [{"name": "HF_HUB_CACHE", "value": "/root/.cache/huggingface/hub"}],
            {"persistentVolumeClaim": {"claimName": "c"}},
        ),
    ],
)
def test_downloads_that_end_with_the_pod_or_stay_are_not_warned_of(
    adopted: Adopt, env: list[Object], volume: Object
) -> None:
    manifest = living()
    engine = container_of(manifest)
    engine["env"] += env
    engine["volumeMounts"] += [{"name": "hf", "mountPath": "/root/.cache/huggingface"}]
    leader_spec(manifest)["volumes"] += [{"name": "hf", **volume}]
    assert not adopted(manifest).says("attention")


def mounted(volume: dict[str, object], path: str) -> dict[str, object]:
    manifest = living()
    container_of(manifest)["command"][2] = path
    container_of(manifest)["volumeMounts"] += [{"name": "w", "mountPath": "/mnt", "readOnly": True}]
    leader_spec(manifest)["volumes"] += [{"name": "w", **volume}]
    return manifest


def test_weights_come_from_what_is_mounted_where_the_model_lies(adopted: Adopt) -> None:
    claim = adopted(mounted({"persistentVolumeClaim": {"claimName": "c"}}, "/mnt/a/deepseek-r1"))
    assert claim.serving.weights.model_dump(exclude_none=True) == {
        "source": "claim", "claim": "c", "path": "a/deepseek-r1",
    }  # fmt: skip
    folder = adopted(mounted({"hostPath": {"path": "/data/"}}, "/mnt/deepseek-r1"))
    assert folder.serving.weights.model_dump(exclude_none=True) == {
        "source": "nodePath", "path": "/data/deepseek-r1",
    }  # fmt: skip
    other = adopted(mounted({"nfs": {"server": "s", "path": "/"}}, "/mnt/deepseek-r1"))
    assert other.serving.weights.source == "hub"
    assert [one["name"] for one in other.serving.pods.volumes] == ["w"]
    assert other.says("weights come from a claim, a folder of the node, or the hub")


def test_a_hub_token_is_the_weights(adopted: Adopt) -> None:
    manifest = living()
    secret = {"secretKeyRef": {"name": "hf", "key": "k"}}
    container_of(manifest)["env"].append({"name": "HF_TOKEN", "valueFrom": secret})
    made = adopted(manifest)
    assert made.serving.weights.token is not None
    assert (made.serving.weights.token.name, made.serving.weights.token.key) == ("hf", "k")
    assert [one["name"] for one in made.serving.pods.env] == ["TEAM"]


def test_a_percentage_and_a_word_that_drifts_are_said(adopted: Adopt) -> None:
    made = adopted(
        living(
            spec__rolloutStrategy__rollingUpdateConfiguration__maxUnavailable="50%",
            spec__leaderWorkerTemplate__restartPolicy="Default",
        )
    )
    assert made.serving.restart_policy is None
    assert made.says('maxUnavailable: "50%" (a whole number of groups is wanted)')
    assert made.says("restartPolicy: Default (derived instead")


def test_sidecars_init_containers_and_pod_fields_are_taken_over(adopted: Adopt) -> None:
    manifest = living()
    spec = leader_spec(manifest)
    spec["containers"].insert(0, {"name": "proxy", "image": "p:1"})
    spec["initContainers"] = [{"name": "get", "image": "g:1"}]
    spec |= {
        "imagePullSecrets": [{"name": "pull"}],
        "serviceAccountName": "mine",
        "securityContext": {"fsGroup": 5},
        "runtimeClassName": "nvidia",
        "priorityClassName": "high",
    }
    made = adopted(manifest)
    pods = made.serving.pods
    assert [one["name"] for one in pods.sidecars] == ["proxy"]
    assert [one["name"] for one in pods.init_containers] == ["get"]
    assert (pods.image_pull_secrets, pods.service_account_name) == (("pull",), "mine")
    assert (pods.security_context, pods.priority_class_name) == ({"fsGroup": 5}, "high")
    assert made.says("runtimeClassName: nvidia -> -")


def test_labels_that_leader_and_workers_do_not_share_are_left_out_and_said(adopted: Adopt) -> None:
    manifest = living()
    templates = manifest["spec"]["leaderWorkerTemplate"]
    templates["leaderTemplate"]["metadata"]["labels"]["role"] = "leader"
    templates["workerTemplate"]["metadata"]["labels"]["role"] = "worker"
    templates["workerTemplate"]["metadata"]["annotations"] = {"scrape": "true"}
    made = adopted(manifest)
    assert made.serving.pods.labels == {"team": "search"}
    assert made.serving.pods.annotations == {}
    at = "spec.leaderWorkerTemplate.leaderTemplate.metadata"
    assert made.says(f"{at}.labels[role]: (leader: leader, workers: worker; pods.labels")
    assert made.says(f'{at}.annotations[scrape]: (leader: none, workers: "true"; pods.annotations')
    assert not adopted(living()).says("pods.labels are those of both")


def test_words_that_are_not_certain_are_guessed_and_said(adopted: Adopt) -> None:
    manifest = living()
    container_of(manifest)["command"] = ["/opt/start.sh"]
    container_of(manifest)["args"] = ["leader"]
    made = adopted(manifest, model="deepseek-r1")
    assert made.serving.parallelism != "auto"
    assert (made.serving.parallelism.tensor, made.serving.parallelism.pipeline) == (8, 2)
    assert made.says('containers[0].command: ["/opt/start.sh"] (what runs is not certain')


def test_a_size_that_is_a_variable_is_what_the_gpus_leave(adopted: Adopt) -> None:
    manifest = living()
    args = container_of(manifest)["args"]
    args[1] = "--pipeline-parallel-size=$(LWS_GROUP_SIZE)"
    made = adopted(manifest)
    assert made.serving.parallelism != "auto" and made.serving.parallelism.pipeline == 2
    assert made.says("pipeline 2 is what the 16 GPUs of a group leave")


def test_an_image_without_a_release_is_said(adopted: Adopt) -> None:
    manifest = living()
    container_of(manifest)["image"] = "registry.example.com/vllm:prod"
    made = adopted(manifest)
    assert made.serving.engine.image == "registry.example.com/vllm:prod"
    assert made.says("correct engine.version if it is another")


def test_secrets_in_plain_text_are_neither_copied_nor_shown(adopted: Adopt) -> None:
    manifest = living()
    for name in ("leaderTemplate", "workerTemplate"):
        spec = manifest["spec"]["leaderWorkerTemplate"][name]["spec"]
        container = spec["containers"][0]
        container["env"] += [
            {"name": "HF_TOKEN", "value": "hf_abc"},
            {"name": "MY_PASSWORD", "value": "$(FROM_ELSEWHERE)"},
        ]
        container["args"] += ["--api-key=sesame", "--hf-token", "hf_abc", "--seed=1"]
        beside = {"name": "beside", "image": "a:1", "env": [{"name": "A_TOKEN", "value": "hf_abc"}]}
        spec["containers"].append(beside)
    made = adopted(manifest)
    assert "hf_abc" not in made.text and "sesame" not in made.text
    assert made.says('env[HF_TOKEN]: "(not copied)" (a secret in plain text')
    assert made.says('containers[1].env[A_TOKEN]: "(not copied)" (a secret in plain text')
    assert made.serving.engine.args == ("--enable-prefix-caching", "--seed=1")
    assert [one["name"] for one in made.serving.pods.env] == ["TEAM", "MY_PASSWORD"]
    script = "exec vllm serve m --api-key sesame --tensor-parallel-size 8"
    container_of(manifest)["command"], container_of(manifest)["args"] = ["sh", "-c", script], []
    assert (
        "sesame" not in adopted(manifest, model="deepseek-r1").text.split("workerTemplate.spec")[0]
    )


def test_a_variable_that_decides_the_model_is_said(adopted: Adopt) -> None:
    manifest = living()
    container_of(manifest)["command"][2] = "$(MODEL)"
    made = adopted(manifest, model="deepseek-r1")
    assert made.serving.served_model_name is None
    assert made.says("a variable decides the model")
