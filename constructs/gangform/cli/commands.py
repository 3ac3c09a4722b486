"""Every command: its words, options and examples, and the function that runs it.

Nothing heavy is imported here: a command's module is loaded when the command runs, so help and completion are quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gangform.cli import surroundings
from gangform.cli.parser import (
    Parser,
    add_command,
    cluster_option,
    count,
    file_option,
    filled,
    fleet_options,
    output_option,
)

_ENDS = """\
exit codes:
  0  done, also with warnings
  1  an error in the inputs or in what was judged, or output that is not current
  2  wrongly called
  3  the machine is not able: a folder that cannot be written, no Node
"""


def parser(only: str | None = None) -> Parser:
    """Every command with its options, or one alone. `shtab` makes completions out of it."""
    root = Parser(
        prog="gangform",
        description="Writes complete, consistent Kubernetes bundles for multi-node LLM serving.",
        epilog="examples:\n"
        "  gangform init --model deepseek-r1 --hardware h100-8x   write a first gangform.yaml\n"
        "  gangform plan                                          see what it takes\n"
        "  gangform synth                                         write dist/\n"
        "  gangform synth --check                                 in CI: is dist/ current?\n"
        "  gangform lint k8s/                                     judge manifests of others\n"
        "  gangform diff                                          what a change costs\n\n"
        f"{_ENDS}",
    )
    root.add_argument("--version", action="store_true", help="print the version")
    root.add_argument("--debug", action="store_true", help="show tracebacks")
    # The name of the program is what argparse would find, by formatting a usage.
    commands = root.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", prog=root.prog
    )
    for name, add in COMMANDS.items():
        if only in (None, name):
            add(commands)
    if only is None:
        # Completions show the first line.
        for command in commands.choices.values():
            command.description = filled(command.description)
    return root


def _synth(commands: Any) -> None:
    synth = add_command(
        commands,
        "synth",
        "gangform.cli.synth:synth",
        help="write the manifests",
        description="Write the manifests: one file a serving and one for each cluster's queues and topology. Files of "
        "gangform that are no longer made are removed; all others are left alone. With an error nothing is written. "
        "What every change costs, in groups and GPUs, is said first.",
        examples="  gangform synth\n  gangform synth deepseek-r1 --cluster prod\n"
        "  gangform synth --stdout | kubectl diff -f -\n  gangform synth --check",
    )
    fleet_options(synth)
    synth.add_argument(
        "--output-dir",
        metavar="FOLDER",
        help="where to write (default: $CDK8S_OUTDIR, else dist beside the fleet file)",
    )
    synth.add_argument(
        "--companion-dir",
        metavar="FOLDER",
        help="where to write what is no manifest, such as runbooks (default: out beside the fleet file, and nowhere "
        "where the manifests have a folder of their own)",
    )
    synth.add_argument(
        "--allow-recreate",
        action="append",
        metavar="NAME",
        help="let all groups of this workload be deleted and made anew; may be given several times",
    )
    instead = synth.add_mutually_exclusive_group()
    instead.add_argument("--stdout", action="store_true", help="print the manifests instead")
    instead.add_argument(
        "--check",
        action="store_true",
        help="write nothing; show what would change, and exit with 1 if anything would",
    )


def _validate(commands: Any) -> None:
    validate = add_command(
        commands,
        "validate",
        "gangform.cli.synth:validate",
        help="check all that synth checks, writing nothing",
        examples="  gangform validate\n  gangform validate -o json",
    )
    fleet_options(validate)
    output_option(validate, formats=("table", "json", "yaml"))


def _diff(commands: Any) -> None:
    diff = add_command(
        commands,
        "diff",
        "gangform.cli.diff:diff",
        help="show what a change costs in groups and GPUs",
        description="Show what a change of the manifests does to what runs: nothing, a rollout of so many groups with "
        "so many GPUs more, a refusal, or groups made anew. Compares the output folder with what Git has, by default "
        "at the commit where HEAD left the default branch. Needs no fleet file; where there is one, releases and "
        "durations are taken from it.",
        examples="  gangform diff\n  gangform diff HEAD~1 -o json\n"
        "  gangform diff origin/main -o markdown > comment.md\n"
        "  gangform diff --output-dir k8s\n"
        "  kubectl get lws,deploy,svc,pdb,hpa -n llm -o yaml | gangform diff --live -",
    )
    file_option(diff)
    cluster_option(diff)
    diff.add_argument(
        "--output-dir",
        metavar="FOLDER",
        help="where the manifests lie (default: $CDK8S_OUTDIR, else dist beside the fleet file, or here)",
    )
    output_option(diff, formats=("table", "json", "markdown"))
    diff.add_argument(
        "--live",
        metavar="FILE",
        help="compare with what runs: output of `kubectl get … -o yaml` (or json); - for stdin",
    )
    diff.add_argument(
        "--defaults",
        type=count,
        metavar="N",
        help="price the move of the fleet to this edition of the defaults",
    )
    diff.add_argument(
        "revision", nargs="?", metavar="REV", help="a commit, branch or tag to compare with"
    )


def _plan(commands: Any) -> None:
    plan = add_command(
        commands,
        "plan",
        "gangform.cli.show:plan",
        help="show what every serving takes, and what has to be there first",
        description="Show how every serving runs, verdicts first. Of one serving, or with `-o wide` of all, the "
        "arithmetic follows: form, shape, memory, cold start, rollout, drains, quota and placement, and what has to be "
        "there before it works. A fleet with errors has a plan too. `gangform schema plan` describes `-o json`. `plan "
        "drain` says what goes with a node or a rack, and what the budgets answer.",
        examples="  gangform plan\n  gangform plan deepseek-r1 -o wide\n  gangform plan --pin\n"
        "  gangform plan -o markdown >> comment.md\n"
        "  gangform plan drain                  what every node and rack takes down\n"
        "  gangform plan drain h100/rack-1/0    what one does\n"
        "  kubectl get pods -A -o json | gangform plan drain gpu-7 gpu-8 --pods -",
    )
    fleet_options(
        plan,
        "SERVING|drain",
        "only these servings; or drain, and behind it the nodes or domains that go (default: each)",
    )
    output_option(plan)
    plan.add_argument(
        "--shapes",
        action="store_true",
        help="also where parallelism is written: what `auto` would choose, and why all others lose",
    )
    plan.add_argument(
        "--pin",
        action="store_true",
        help="write the numbers that `parallelism: auto` is resolved to into the file first",
    )
    plan.add_argument(
        "--pods",
        metavar="FILE",
        help="with drain: where groups lie, from `kubectl get pods -A -o json`; - for stdin "
        "(default: as the plan assumes)",
    )


def _report(commands: Any) -> None:
    report = add_command(
        commands,
        "report",
        "gangform.cli.report:report",
        help="write one page about the fleet, for people",
        description="Write one HTML page that needs nothing else: verdicts and findings, memory by pipeline stage, a "
        "map of each pool with the groups and what is free, rollouts over time, what a loss takes, prerequisites, and "
        "every object with what it names. Also for a fleet with errors. Default: report.html.",
        examples="  gangform report --to report.html\n  gangform report deepseek-r1 --cluster prod --to -",
    )
    fleet_options(report)
    report.add_argument(
        "--to", default="report.html", metavar="FILE", help="the page; - for stdout"
    )


def _lint(commands: Any) -> None:
    lint = add_command(
        commands,
        "lint",
        "gangform.cli.lint:lint",
        help="judge manifests that anybody wrote",
        description="Judge manifests, whoever wrote them: plain YAML or JSON, Lists, what helm template and kustomize "
        "build print. What is named together is judged together, unless it holds the same object twice with different "
        "content: then each folder, or each file, is judged by itself. Exit code 1 where something breaks.",
        examples="  gangform lint k8s/\n"
        "  helm template chart | gangform lint - --versions lws=0.10,kueue=0.19\n"
        "  kubectl get lws,deploy,svc,pdb,hpa -n llm -o yaml | gangform lint -\n"
        "  gangform lint k8s/ --given beside.yaml -o sarif > lint.sarif\n"
        "\nIn a file `# gangform: ignore[CODE] REASON` hides a finding: behind the value, or\n"
        "above a field, for all that is inside of it.",
    )
    lint.add_argument("sources", nargs="+", metavar="FILE|DIR|-", help="manifests; - for stdin")
    lint.add_argument(
        "--versions",
        action="append",
        default=[],
        metavar="NAME=VERSION,…",
        help="releases that run, of kubernetes, lws, kueue, volcano, vllm, sglang",
    )
    lint.add_argument(
        "--given",
        action="append",
        default=[],
        metavar="FILE",
        help="what lies beside: output of `kubectl get … -o yaml`, or facts (`gangform schema given`); may be given "
        "several times",
    )
    lint.add_argument(
        "--select", action="append", default=[], metavar="CODE,…", help="say only these codes"
    )
    lint.add_argument(
        "--ignore", action="append", default=[], metavar="CODE,…", help="never say these codes"
    )
    output_option(lint, formats=("table", "json", "sarif", "github"))


COMMANDS: Mapping[str, Callable[[Any], None]] = {
    "synth": _synth,
    "validate": _validate,
    "diff": _diff,
    "plan": _plan,
    "report": _report,
    "lint": _lint,
    "init": surroundings.init,
    "cluster": surroundings.cluster,
    "explain": surroundings.explain,
    "profiles": surroundings.profiles,
    "schema": surroundings.schema,
    "completion": surroundings.completion,
}
"""Who adds a command, in the order of the help."""
