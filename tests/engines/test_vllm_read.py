"""Foreign containers: only what is certain is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangform.documents.document import Manifest
from gangform.engines.engine import EngineReading
from gangform.engines.vllm import Vllm


def whole(command: list[Any] | None = None, args: list[Any] | None = None, **more: Any) -> Any:
    container: dict[str, Any] = {"name": "c", **more}
    if command is not None:
        container["command"] = command
    if args is not None:
        container["args"] = args
    return Vllm().read(container)


def read(command: list[Any] | None = None, args: list[Any] | None = None, **more: Any) -> Any:
    """What most tests ask for: whether it serves, where, and over how many GPUs and nodes."""
    found = whole(command, args, **more)
    return found and EngineReading(*found[:7])


def reading(**more: Any) -> EngineReading:
    plain: dict[str, Any] = {
        "engine": "vllm",
        "serves_http": True,
        "port": 8000,
        "gpus": 1,
        "nodes": None,
        "rank": None,
        "all_ranks": more.get("nodes") is not None,
    }
    return EngineReading(**{**plain, **more})


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["vllm", "serve", "m"], None),
        (["vllm"], ["serve", "m"]),
        (["/usr/local/bin/vllm", "serve"], ["m"]),
        (["python", "-m", "vllm.entrypoints.openai.api_server"], ["--model=m"]),
        (["python3", "-u", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"], None),
        (["python3.12", "-m", "vllm.entrypoints.cli.main", "serve", "m"], None),
        (["sh", "-c", "vllm serve m"], None),
        (["/bin/bash", "-ec"], ["exec vllm serve m"]),
        (["bash", "-c"], ["A=1 exec vllm serve \\\n  m\n"]),
        (["sh", "-c", "ray start --head; vllm serve m"], None),
        (["sh", "-c", "sleep 1 && vllm serve m"], None),
        (["sh", "-c", "vllm serve m 2>&1 | tee log"], None),
        (["sh", "-c", "vllm serve m\nsleep 1"], None),
        (["sh", "-c", "vllm serve $MODEL # the model"], None),
    ],
)
def test_ways_to_start_it(command: list[str], args: list[str] | None) -> None:
    assert read(command, args) == reading()


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["sglang", "serve"], None),
        (["vllm", "bench"], None),
        (["vllm"], None),
        (None, ["serve", "m"]),
        (["python", "server.py"], None),
        (["python", "-m", "http.server"], None),
        (["python", "run.py", "-m", "vllm.entrypoints.openai.api_server"], None),
        (["sh", "-c", "ray start --head"], None),
        (["sh", "-c", "vllm serve a & vllm serve b"], None),
        (["sh", "-c", "if true; then vllm serve m; fi"], None),
        (["sh", "-c", "[ $A ] && exec vllm serve m\nvllm serve m --headless"], None),
        (["sh", "-c", "vllm serve m $EXTRA_ARGS"], None),
        (["sh", "-c", "vllm serve m --headless $EXTRA_ARGS"], None),
        (["sh", "-c", "vllm serve $(cat name)"], None),
        (["sh", "-c", "vllm serve `cat name`"], None),
        (["sh", "-c", 'vllm serve "$@"'], None),
        (["sh", "-c", "vllm serve 'm"], None),
        (["sh", "start.sh"], None),
        (["sh", "-c", "vllm"], ["serve", "m"]),
        (["vllm", "serve", 3], None),
        (["vllm", "serve", "m", "--config=x.yaml"], None),
        (["vllm", "serve", "m", "--port=$(PORT)"], None),
        (["vllm", "serve", "m", "--uds=/s"], None),
        ([], []),
    ],
)
def test_what_is_not_certain_is_not_said(command: list[Any] | None, args: list[str] | None) -> None:
    assert read(command, args) is None


def test_the_published_image_starts_it_by_itself() -> None:
    image = "docker.io/vllm/vllm-openai:v0.32.0"
    assert read(None, ["--model=m", "-tp", "4"], image=image) == reading(gpus=4)
    assert read(None, ["--model=m", "--headless"], image=image) is None
    assert read(None, ["--model=m"], image="example/other:1") is None


def test_sizes_by_the_beginning_of_their_flags_count() -> None:
    words = ["vllm", "serve", "m", "--tensor-parallel", "8", "--pipeline-par=2", "--nnode", "2"]
    assert read([*words, "--node-r=1", "--headl"]) == reading(
        gpus=16, nodes="2", rank="1", serves_http=False
    )


def test_the_limit_of_a_start_is_that_of_the_last_who_sets_it() -> None:
    limit = "VLLM_ENGINE_READY_TIMEOUT_S"
    env = [{"name": limit, "value": "600"}, {"name": limit, "value": "1800"}]
    assert whole(["vllm", "serve", "m"], env=env).start_limit == (limit, 1800, 600)
    script = f"export {limit}=3600; vllm serve m"
    assert whole(["sh", "-c", script], env=env).start_limit == (limit, 3600, 600)
    assert whole(["sh", "-c", f"source x; {script}"], env=env).start_limit == (limit, 3600, 600)
    unknown = whole(["sh", "-c", "source x; vllm serve m"], env=env)
    assert (unknown.start_limit, unknown.start_default) == (None, None)


def test_the_published_image_takes_no_second_serve() -> None:
    image = "vllm/vllm-openai:v0.32.0"
    found = whole(None, ["serve", "m", "-tp", "4"], image=image)
    assert (found.model, found.gpus) == ("m", 4)
    assert "takes `serve` for an argument" in found.refused[0][0]
    assert not whole(None, ["m", "-tp", "4"], image=image).refused
    assert not whole(["vllm"], ["serve", "m"], image=image).refused


def test_without_a_model_the_words_are_not_whole() -> None:
    assert whole(["vllm", "serve"], ["--port=1"]).gpus is None


def test_headless_counts_for_vllm_serve_only() -> None:
    assert read(["vllm", "serve", "m", "--headless"]) == reading(serves_http=False)
    entry = ["python", "-m", "vllm.entrypoints.openai.api_server", "--model=m", "--headless"]
    assert read(entry) == reading(serves_http=True)


def test_a_shell_that_names_a_variable_of_the_kubelet() -> None:
    script = (
        "exec vllm serve m -tp 8 -pp 2 --nnodes $(LWS_GROUP_SIZE) "
        "--node-rank=$(LWS_WORKER_INDEX) --headless"
    )
    assert read(["sh", "-c", script]) == reading(
        serves_http=False, gpus=16, nodes="$(LWS_GROUP_SIZE)", rank="$(LWS_WORKER_INDEX)"
    )


def test_sizes_multiply_where_they_are_numbers() -> None:
    sizes = ["-tp=4", "-pp", "2", "--data_parallel_size=2", "-pcp=2", "-dcp=4"]
    assert read(["vllm", "serve", "m", *sizes]) == reading(gpus=32)
    assert read(["vllm", "serve", "m", "-tp=$(TP)"]) == reading(gpus=None)
    assert read(["vllm", "serve", "m", "-tp=8", "--tensor-parallel-size=2"]) == reading(gpus=2)


def test_one_node_is_no_group() -> None:
    assert read(["vllm", "serve", "m", "--nnodes=1"]) == reading()
    assert read(["vllm", "serve", "m", "--nnodes=2", "-r", "1"]) == reading(nodes="2", rank="1")


def test_a_port_of_its_own() -> None:
    assert read(["vllm", "serve", "m", "--port", "8200"]) == reading(port=8200)


@given(
    st.dictionaries(st.sampled_from(["command", "args", "image"]), st.lists(st.text()) | st.text())
)
def test_no_container_raises(container: Manifest) -> None:
    Vllm().read(container)


@given(st.text(alphabet="vlm sere-$(){}'\"\\;&|`\n=#x", max_size=40))
def test_no_script_raises(script: str) -> None:
    read(["sh", "-c", script])


def test_a_wide_script_as_guides_write_it() -> None:
    script = """
    # Left over from a crash
    find /dev/shm -type f -delete
    FIRST=$(( ${LWS_WORKER_INDEX:-0} * LOCAL ))
    exec vllm serve org/m-120b --port 8200 \\
      --data-parallel-multi-port-external-lb --data-parallel-supervisor-port=8208 \\
      --tensor-parallel-size $TP --data-parallel-size $((LWS_GROUP_SIZE * LOCAL)) \\
      --data-parallel-size-local $LOCAL --data-parallel-address ${LWS_LEADER_ADDRESS} \\
      --data-parallel-start-rank $FIRST \\
      --kv_transfer_config '{"kv_connector":"NixlConnector",
                             "kv_role":"kv_both"}' \\
      --kv-cache-memory-bytes=${BYTES-}
    """
    env = [{"name": "LOCAL", "value": "8"}, {"name": "TP", "value": "1"}]
    found = whole(["/bin/bash", "-c"], [script], env=env)
    assert (found.port, found.local, found.pods, found.gpus) == (8200, 8, None, None)
    assert (found.rank, found.address) == ("$(FIRST)", "$(LWS_LEADER_ADDRESS)")
    assert found.model == "org/m-120b" and found.serves_http and not found.refused
    assert "/readyz" not in found.absent_paths
    assert found.side_channel.value == "localhost" and not found.side_channel.written


def test_what_else_a_reading_holds() -> None:
    found = whole(
        [
            "vllm",
            "serve",
            "m",
            "-tp=8",
            "--nnodes=2",
            "--shutdown-timeout=45",
            "--disable-log-stats",
        ],
        env=[{"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": "3600"}],
    )
    assert found.start_limit == ("VLLM_ENGINE_READY_TIMEOUT_S", 3600, 600)
    assert (found.tensor, found.drain, found.floor[0]) == (8, 45, (0, 13, 0))
    assert found.metrics_off is not None and found.metrics_served
    assert whole(["vllm", "serve", "m", "--omni"]).gpus is None
