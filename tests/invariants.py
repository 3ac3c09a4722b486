"""What must hold between the objects of one cluster, worked out again from the objects alone.

Nothing here comes from the plan, from `apis` or from the rules: label keys, bounds and sums are written a second time,
and the pods are made as the controllers make them (names, labels and hashes as seen on a live control plane). So a
number or a selector that is wrong in one place and copied to all others is still wrong here.

An invariant is a function that yields what is broken, one sentence a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.invariant.admits import (
    a_pool_has_one_backend,
    pod_groups_hold_their_group,
    quotas_hold_exactly_the_peak,
    required_levels_are_kept,
    topology_is_asked_for_whole,
)
from tests.invariant.pods import (
    node_autoscalers_stay_off_every_pod_or_none,
    ports_are_named_where_something_listens,
    probes_ask_only_who_listens,
    ranks_fill_the_requested_gpus,
    requests_are_limits,
    templates_schedule_alike,
)
from tests.invariant.references import (
    names_stay_in_bounds,
    namespaces_are_right,
    references_resolve,
)
from tests.invariant.selects import (
    autoscalers_move_their_workload,
    budgets_cover_a_set_or_one_group,
    monitors_scrape_exactly_the_leaders,
    policies_shield_exactly_the_pods,
    services_reach_exactly_the_leaders,
)
from tests.invariant.written import (
    completing_changes_nothing,
    everything_is_owned_and_no_pod_says_so,
    leaves_are_plain,
    nothing_is_left_to_defaults,
    waves_lead_to_the_workload,
)
from tests.world import World

INVARIANTS: tuple[Callable[[World], Iterator[str]], ...] = (
    services_reach_exactly_the_leaders,
    monitors_scrape_exactly_the_leaders,
    policies_shield_exactly_the_pods,
    budgets_cover_a_set_or_one_group,
    autoscalers_move_their_workload,
    ports_are_named_where_something_listens,
    probes_ask_only_who_listens,
    ranks_fill_the_requested_gpus,
    templates_schedule_alike,
    node_autoscalers_stay_off_every_pod_or_none,
    requests_are_limits,
    quotas_hold_exactly_the_peak,
    a_pool_has_one_backend,
    pod_groups_hold_their_group,
    topology_is_asked_for_whole,
    required_levels_are_kept,
    references_resolve,
    names_stay_in_bounds,
    namespaces_are_right,
    nothing_is_left_to_defaults,
    leaves_are_plain,
    everything_is_owned_and_no_pod_says_so,
    completing_changes_nothing,
    waves_lead_to_the_workload,
)
"""All of them, one subject each."""
