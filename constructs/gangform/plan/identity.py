"""Names, labels and selectors: made here once, so that everything that has to agree with them can only agree.

A controller makes objects whose names end in the group's index, and the longest of them decides what a set may be
called. No webhook checks this; over the bound a set may work until its next revision has a longer hash (`lab E9`).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gangform.admission.admission import Policy
from gangform.apis.core import APP_NAME, MANAGED_BY
from gangform.apis.forms import Form, Selectors
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula

NAME_TOO_LONG = declare(
    "name-too-long",
    "Objects made for the highest group would have names or labels over 63 characters",
    Severity.BREAKS,
    "lws §2e; lab E4, E9",
)

OWNER = "gangform"
"""Value of the managed-by label: what makes a file in `dist/` ours."""


class IdentityPlan(NamedTuple):
    """What one workload and the objects around it are called."""

    name: str
    """The workload."""
    app: str
    """Value of the app label on every pod; the serving's name, also where each group is a workload of its own."""
    service: str
    """The Service of the leaders. Not the set's name, which its headless Service takes."""
    account: str
    """The ServiceAccount."""
    object_labels: Mapping[str, str]
    """On the metadata of every object of ours, never on pods."""
    pod_labels: Mapping[str, str]
    selectors: Selectors
    highest_index: int
    """The highest group index that rollout and autoscaler can reach."""
    longest_name: int
    """The longest name that still works at that index."""


@formula("most groups + surge - 1", source="lws §2e")
def highest_index(groups: int, surge: int) -> int:
    """The highest group index that can exist."""
    return groups + surge - 1


@formula(
    "the form's bound at the highest index; the backend's where it is shorter",
    source="lws §2e; lab E4, E10",
)
def longest_name(form: Form, policy: Policy, size: int, index: int) -> int:
    """The longest name a workload may have."""
    bound = form.longest_name(size=size, highest_index=index)
    if policy.longest_name is None or not form.can.runs_groups:
        return bound
    return min(bound, policy.longest_name + 1 - len(str(index)))


def derive(
    serving: Serving,
    *,
    name: str,
    form: Form,
    policy: Policy,
    size: int,
    groups: int,
    surge: int,
    account: str | None,
) -> IdentityPlan:
    """Names and selectors of one workload of a serving."""
    index = highest_index(groups, surge)
    return IdentityPlan(
        name=name,
        app=serving.name,
        service=f"{serving.name}-leader",
        account=account or serving.name,
        object_labels={APP_NAME: serving.name, MANAGED_BY: OWNER},
        pod_labels={APP_NAME: serving.name},
        selectors=form.selectors(name=name, app=serving.name),
        highest_index=index,
        longest_name=longest_name(form, policy, size, index),
    )


def check(plan: IdentityPlan, at: Path) -> Iterator[Finding]:
    """Whether the name is short enough."""
    if len(plan.name) > plan.longest_name:
        # A workload of its own for each group is called after the serving and its index.
        room = plan.longest_name - (len(plan.name) - len(plan.app))
        yield Finding(
            code=NAME_TOO_LONG,
            at=InputPath((*at, "name")),
            what=f"`{plan.name}` has {len(plan.name)} characters; with groups up to index "
            f"{plan.highest_index} at most {plan.longest_name} work",
            fix=f"shorten it to `{plan.app[:room].rstrip('-')}` or another name of at most {room} characters",
            seen={"length": str(len(plan.name)), "longest": str(plan.longest_name)},
        )
