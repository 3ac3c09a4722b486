"""What surrounds a fleet, in words and options: beginning one, explaining it, profiles, schemas, what nodes say.

Nothing heavy is imported here, as in `commands`.
"""

from __future__ import annotations

from typing import Any

from gangform.cli.parser import add_command, cluster_option, count, file_option, output_option


def init(commands: Any) -> None:
    """Add it."""
    init = add_command(
        commands,
        "init",
        "gangform.cli.fleet:init",
        help="write a first gangform.yaml",
        description="Write a first gangform.yaml: for a model on a kind of node, or, with --from, for what runs "
        "already. Then all but --cluster is read from the manifests; --name chooses one of several sets, --model and "
        "--hardware say what cannot be read.",
        examples="  gangform init --model deepseek-r1 --hardware h100-8x\n"
        "  gangform init --model qwen3-32b --hardware aws-p5 --groups 4 --admission none\n"
        "  kubectl get lws,deploy,svc,pdb,hpa -n llm -o yaml | gangform init --from -",
    )
    init.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="begin with the sets of groups in these manifests; - for stdin",
    )
    for option, metavar, text in (
        ("--model", "NAME", "a model that `gangform profiles` lists"),
        ("--hardware", "NAME", "a kind of node that `gangform profiles` lists"),
        ("--admission", "NAME", "who starts groups: kueue, volcano, volcano-podgroup or none (default: kueue)"),
        ("--namespace", "NAME", "where the serving runs (default: llm)"),
        ("--name", "NAME", "of the serving (default: as the model)"),
        ("--engine-version", "VERSION", "of vLLM (default: the newest known)"),
    ):  # fmt: skip
        init.add_argument(option, metavar=metavar, help=text)
    init.add_argument(
        "--groups", type=count, metavar="N", help="complete copies of the model (default: 1)"
    )
    init.add_argument(
        "--context",
        type=count,
        metavar="TOKENS",
        help="the longest request (default: 32768, or what the model takes)",
    )
    init.add_argument(
        "--concurrency",
        type=count,
        metavar="N",
        help="requests of that length that a group has to hold at once; decides its shape",
    )
    init.add_argument(
        "--cluster", default="prod", metavar="NAME", help="of the cluster (default: prod)"
    )
    init.add_argument(
        "-f",
        "--file",
        default="gangform.yaml",
        metavar="FILE",
        help="what to write (default: gangform.yaml)",
    )
    init.add_argument("--force", action="store_true", help="replace a file that is there")


def explain(commands: Any) -> None:
    """Add it."""
    explain = add_command(
        commands,
        "explain",
        "gangform.cli.explain:explain",
        help="explain a code, an input field, or a line of the output",
        description="Explain a code or an input field; or trace a line of the output to the field of the plan, the "
        "formulas with their values, the inputs with file and line, the defaults, and what a change of it costs.",
        examples="  gangform explain                                     all codes\n"
        "  gangform explain dist/prod/deepseek-r1.k8s.yaml:57   where that line comes from\n"
        "  gangform explain model-does-not-fit\n"
        "  gangform explain servings.parallelism.tensor\n"
        "  gangform explain LeaderWorkerSet/deepseek-r1 spec.replicas",
    )
    file_option(explain)
    output_option(explain)
    explain.add_argument(
        "target",
        nargs="?",
        metavar="CODE|FIELD|FILE:LINE|KIND/NAME",
        help="a code, a field of the inputs, a line of the output, or an object of it (default: a list of all codes)",
    )
    explain.add_argument(
        "path", nargs="?", metavar="PATH", help="a field of that object (default: all of it)"
    )


def runbook(commands: Any) -> None:
    """Add it."""
    runbook = add_command(
        commands,
        "runbook",
        "gangform.cli.runbook:runbook",
        help="say what to look at and type when an alert fires",
        description="Say what to look at and type when an alert fires: a page for each alert of a serving or a queue, "
        "with its own names, selectors and numbers. Where a cluster has `monitoring.runbookBase`, `synth` writes the "
        "same pages to out/CLUSTER/runbooks, and alerts link to them.",
        examples="  gangform runbook                                    who has pages\n"
        "  gangform runbook deepseek-r1                        what pages there are\n"
        "  gangform runbook deepseek-r1 ServingGroupsNotReady  one of them\n"
        "  gangform runbook deepseek-r1 -o json",
    )
    file_option(runbook)
    cluster_option(runbook)
    output_option(runbook, formats=("table", "json", "yaml"))
    runbook.add_argument(
        "subject",
        nargs="?",
        metavar="SERVING",
        help="a serving, or a queue (default: a list of them)",
    )
    # Called like the words of other commands, so that options may stand before it.
    runbook.add_argument(
        "servings", nargs="*", metavar="ALERT", help="one of its alerts (default: a list of all)"
    )


def profiles(commands: Any) -> None:
    """Add it."""
    profiles = add_command(
        commands,
        "profiles",
        "gangform.cli.fleet:profiles",
        help="list models, hardware and clusters, or show one with its sources",
        description="List models, hardware and clusters, or show one with its sources. `profiles import PATH` makes a "
        "model's profile of a checkpoint: of its config.json, and of model.safetensors.index.json and "
        "hf_quant_config.json where they lie beside it. It is printed, or kept in profiles/models/ beside the fleet "
        "file.",
        examples="  gangform profiles\n  gangform profiles deepseek-r1\n"
        "  gangform profiles import ~/.cache/huggingface/hub/models--Qwen--Qwen3-235B-A22B/snapshots/REV\n"
        "  gangform profiles import config.json --repository Qwen/Qwen3-235B-A22B --write",
    )
    file_option(profiles)
    output_option(profiles)
    profiles.add_argument(
        "name",
        nargs="?",
        metavar="NAME|import",
        help="the one to show (default: a list of all), or import",
    )
    profiles.add_argument(
        "path", nargs="?", metavar="PATH", help="a checkpoint's folder, or its config.json"
    )
    profiles.add_argument(
        "--repository",
        metavar="ID",
        help="with import: what engines load it by (default: what the hub's cache folder says)",
    )
    profiles.add_argument(
        "--name",
        dest="called",
        metavar="NAME",
        help="with import: what servings call it (default: the last part of the id, in small letters)",
    )
    profiles.add_argument(
        "--write",
        action="store_true",
        help="with import: keep it in profiles/models/ beside the fleet file",
    )


def schema(commands: Any) -> None:
    """Add it."""
    schema = add_command(
        commands,
        "schema",
        "gangform.cli.fleet:schema",
        help="print the JSON Schema of a file, for editors, or of `plan -o json`",
        examples="  gangform schema > gangform.schema.json\n  gangform schema model -o yaml\n"
        "  gangform schema plan",
    )
    kinds = ("fleet", "serving", "cluster", "model", "hardware", "given", "plan")
    schema.add_argument(
        "kind",
        nargs="?",
        choices=kinds,
        default="fleet",
        metavar="KIND",
        help=f"{', '.join(kinds)} (default: fleet)",
    )
    output_option(schema, formats=("json", "yaml"), default="json")


def completion(commands: Any) -> None:
    """Add it."""
    completion = add_command(
        commands,
        "completion",
        "gangform.cli.fleet:completion",
        help="print a completion script for a shell",
        examples='  eval "$(gangform completion bash)"\n'
        '  gangform completion zsh > "${fpath[1]}/_gangform"',
    )
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def cluster(commands: Any) -> None:
    """Add it."""
    cluster = add_command(
        commands,
        "cluster",
        "gangform.cli.cluster:import_nodes",
        help="read what a cluster's nodes say",
        examples="  kubectl get nodes -o json | gangform cluster import - --name prod --write",
    )
    actions = cluster.add_subparsers(
        title="actions", dest="action", metavar="ACTION", required=True, prog=cluster.prog
    )
    imports = add_command(
        actions,
        "import",
        "gangform.cli.cluster:import_nodes",
        help="make pools of nodes: hardware, counts, topology",
        description="Make pools of nodes: by GPU product, with what a node offers, the levels of the topology, and how "
        "many nodes lie in each domain. Printed, or kept in profiles/nodes/NAME.yaml, which is joined to the cluster "
        "NAME. What people wrote about the cluster is never touched, and wins.",
        examples="  kubectl get nodes -o json | gangform cluster import -\n"
        "  kubectl get nodes -o json | gangform cluster import - --name prod --write",
    )
    imports.add_argument(
        "nodes", metavar="FILE", help="output of `kubectl get nodes -o json` (or yaml); - for stdin"
    )
    imports.add_argument(
        "--name", metavar="NAME", help="of the cluster (default: the fleet's only one, else prod)"
    )
    imports.add_argument(
        "--write", action="store_true", help="keep it in profiles/nodes/ beside the fleet file"
    )
    file_option(imports)
