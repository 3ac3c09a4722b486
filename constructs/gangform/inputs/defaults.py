"""The only home of our opinions: each with its value, its unit and its reason.

A better default comes with a new edition, never under the feet of a running fleet: `defaults: 1` in the inputs keeps
the bytes of the templates as they are (`design §3`, Output is an interface). An edition is the one before it and the
rows that changed, each with its reason; `docs/editions.md` says when there is a new one, and how it is added.
"""

from fractions import Fraction
from typing import Any, NamedTuple

from gangform.findings import Finding, InputError, InputPath, Severity, declare
from gangform.units import Bytes, BytesPerSecond, Seconds

EDITION_UNKNOWN = declare(
    "edition-unknown",
    "An edition of the defaults that does not exist",
    Severity.BREAKS,
    "design §3",
)


class AlertDefaults(NamedTuple):
    """How long each fault may last before somebody hears of it."""

    not_ready_margin: Seconds = Seconds(300)
    """Beyond the worst cold start, before a missing group alarms."""
    pending: Seconds = Seconds(1800)
    """Pods wait for capacity: what most would accept as a queue."""
    quiet_window: Seconds = Seconds(1800)
    """Least time without any movement after which a rollout counts as stalled."""
    rebuild_window: Seconds = Seconds(3600)
    """Least time in which the rebuilds of a group are counted."""
    rebuild_starts: int = 3
    """Starts that the window must hold: three lives of a leader that dies at the end of each."""
    rebuilds: int = 2
    """Lives of one leader in the window that are no news: a rollout and one lost node."""
    nothing: Seconds = Seconds(300)
    """Nothing serves: a restart of the exporter passes, an outage does not."""
    incomplete: Seconds = Seconds(120)
    """A leader serves for a broken group: requests fail, so only what a rebuild takes to begin."""
    stalled: Seconds = Seconds(300)
    """After the quiet window: a scrape that is missing is no stall."""
    mismatch: Seconds = Seconds(300)
    """Service and groups disagree: leaving endpoints takes preStop and drain."""
    unscraped: Seconds = Seconds(600)
    """A leader serves and is not scraped: time to find a new target, and to read a new monitor."""
    no_room: Seconds = Seconds(900)
    """The spare group is not there: time for pods that end to go, and for a node to come back from a restart."""
    cordoned: Seconds = Seconds(1800)
    """A node is being drained and a group is still there."""
    missing: Seconds = Seconds(900)
    """The workload does not exist, or nobody exports it: time to replace an exporter or to sync a folder."""
    at_maximum: Seconds = Seconds(1800)
    """An autoscaler wants all it may: a peak passes, a lack of capacity does not."""
    blind: Seconds = Seconds(900)
    """An autoscaler has no metric: time to replace the adapter."""
    engine_quiet: Seconds = Seconds(300)
    """Least time without a token after which an engine with requests counts as hanging: no step takes minutes."""
    prompt_tokens_a_second: int = 500
    """What a group reads of a prompt at the least: a tenth of what slow ones do. No token comes before all is read."""
    engine_stalled: Seconds = Seconds(120)
    """After the time without a token: a scrape that is missing is no hang."""
    cache_share: Fraction = Fraction(95, 100)
    """Share of the cache that counts as full: what is left is in pieces too small for a request."""
    cache_waits: Seconds = Seconds(300)
    """Since when a request must have waited for a full cache to be news: a queue may be empty for a scrape."""
    cache_full: Seconds = Seconds(600)
    """A burst fills the cache and is gone."""
    queue: int = 20
    """Waiting requests a ready group that are too many, where no autoscaler says how many it accepts."""
    queue_over_target: int = 2
    """Times the target of an autoscaler: up to the target, and a tenth above, it does nothing on purpose."""
    queue_deep: Seconds = Seconds(600)
    """A burst is over before anybody could act."""
    counted: Seconds = Seconds(900)
    """In how long requests that fail or lose their cache are counted: enough of them for a share."""
    least_preemptions: int = 10
    """In that time, before their share says anything."""
    preempted_share: Fraction = Fraction(1, 10)
    """Of the requests that finish: the rest of the pool has grown too small for the load."""
    preempted: Seconds = Seconds(600)
    """A burst of long answers passes."""
    least_failed: int = 5
    """Failed requests in the time counted, before their share says anything."""
    failed_share: Fraction = Fraction(1, 20)
    """Of all requests: a single bad one is no fault of the serving."""
    failed: Seconds = Seconds(120)
    """A scrape that is missing is no fault."""
    burn_fast: Fraction = Fraction(144, 10)
    """Times the share that an objective allows, in 5 minutes and in an hour: a month's is gone in two days."""
    burn_slow: Fraction = Fraction(6)
    """The same in 30 minutes and in 6 hours: gone in five days."""
    slow_fast: Seconds = Seconds(120)
    """The windows look back by themselves; this is a missing scrape."""
    slow: Seconds = Seconds(900)
    """Nobody is woken for it."""
    least_answered: int = 10
    """First tokens in the short window, before a share of them says anything."""
    lasting: Seconds = Seconds(600)
    """A group waits for what waiting does not end: time for a queue that is being changed to be whole again."""
    admission_wait: Seconds = Seconds(640)
    """What most groups may wait until they are admitted. A bound of the buckets of Kueue's histogram, and below
    `pending`: an alert on those that wait says the rest."""
    admission_window: Seconds = Seconds(21600)
    """In how long such waits are counted: few groups are admitted, and a rollout of several is one picture."""
    evictions_window: Seconds = Seconds(3600)
    """In how long evictions from a queue are counted: long enough to be seen by whoever looks every hour."""
    blocked: Seconds = Seconds(900)
    """A rollout whose new pods wait: pulling an image passes, a lack of room does not."""
    lagging: Seconds = Seconds(600)
    """The controller has not seen a change: time to replace the controller."""


class Change(NamedTuple):
    """One row that an edition has otherwise than the edition before it."""

    row: str
    """Name of a field of `Defaults`; `alerts.pending` for one of `AlertDefaults`."""
    value: Any
    """The new value, of the type of the old one."""
    reason: str
    """Why it is better, for those who decide whether to move."""


class Defaults(NamedTuple):
    """One edition of our opinions."""

    edition: int
    """The number that inputs name."""
    changes: tuple[Change, ...] = ()
    """What it has otherwise than the edition before it."""

    allocatable_share: Fraction = Fraction(9, 10)
    """Share of a node's allocatable CPU, memory and ephemeral storage that a whole-node pod requests. The rest is
    for DaemonSets, whose requests we do not know."""
    shared_memory_per_gpu: Bytes = Bytes.gib(2)
    """`/dev/shm` per GPU of the pod. Guides use 2 to 64 GiB a pod; NCCL and the engine's queues need a few."""
    claim_margin: Fraction = Fraction(11, 10)
    """Size of a claim per pod over the checkpoint: downloads are written beside what they replace."""
    privilege_escalation: bool = False
    """`allowPrivilegeEscalation` of the engine's container: no engine needs it."""
    mount_token: bool = False
    """Whether pods get an API token: no engine talks to the API server."""

    drain: Seconds = Seconds(60)
    """How long a leader may finish requests after it left the endpoints, where the engine can drain."""
    pre_stop: Seconds = Seconds(15)
    """Sleep before the engine is told to stop, so that every proxy has dropped the endpoint first."""
    grace_margin: Seconds = Seconds(15)
    """Added to preStop and drain for the process to end by itself."""

    warm_up: Seconds = Seconds(240)
    """From weights loaded to ready: compilation, graph capture, profiling."""
    assumed_bandwidth: BytesPerSecond = BytesPerSecond(2**30)
    """Read bandwidth of a pod where neither hardware nor serving says one: 1 GiB/s."""
    cold_start_margin: Fraction = Fraction(3, 2)
    """The worst cold start is this many times the expected one: a busy store, a cold image."""
    startup_floor: Seconds = Seconds(600)
    """Least startup budget. Too short kills a load and repeats it for ever; too long costs nothing."""
    assumed_startup_floor: Seconds = Seconds(2700)
    """Least startup budget where the read bandwidth is only assumed."""

    startup_period: Seconds = Seconds(10)
    """Between startup probes."""
    readiness_period: Seconds = Seconds(5)
    """Between readiness probes: a lost engine leaves the endpoints within two failures."""
    readiness_failures: int = 2
    """Failures in a row until a leader leaves the endpoints: one slow answer is no outage."""
    readiness_timeout: Seconds = Seconds(3)
    """For one answer: shorter than the period, so that probes never overlap."""
    liveness_period: Seconds = Seconds(30)
    """Between liveness probes: slow on purpose, since a failure rebuilds the whole group."""
    liveness_failures: int = 3
    """Failures in a row until the engine is restarted: a minute and a half, which a busy engine outlasts."""
    liveness_timeout: Seconds = Seconds(10)
    """For one answer: an engine under full load answers late and is alive."""

    scaling_target: int = 8
    """Waiting requests a group at which the autoscaler adds one."""
    scaling_step: int = 1
    """Groups an autoscaler adds or takes at a time: each is many GPUs and a cold start."""
    scaling_up_window: Seconds = Seconds(120)
    """How long a wish for more must last before a group is added: a burst of seconds is over before it loads."""
    scaling_failures: int = 4
    """Answers that KEDA may miss before it falls back to the groups that are there: a minute or two, in which a
    Prometheus is restarted."""
    progress_margin: Seconds = Seconds(300)
    """Beyond the startup budget, before a Deployment's rollout counts as failed."""
    alerts: AlertDefaults = AlertDefaults()
    listed_groups: int = 1000
    """Most groups of a serving that get objects of their own, a set or a budget each: nobody looks after more."""
    queueing_strategy: str = "BestEffortFIFO"
    """Of a Kueue queue: a group that fits nowhere does not hold up a smaller one behind it."""
    preemption: str = "Never"
    """In a Kueue queue and its cohort: a preempted group is a cold start, and its pods are deleted past every
    budget."""
    queue_weight: int = 1
    """Share of a Volcano queue among queues: equal, until somebody has a reason."""
    queue_reclaimable: bool = False
    """Whether another Volcano queue may take back what a group runs on: as for preemption."""
    spread_skew: int = 1
    """How many more replicas of one pod one domain may have than another."""
    spread_unsatisfied: str = "ScheduleAnyway"
    """What happens to a replica that cannot be spread: in the wrong place it serves, while waiting it does not."""


def following(before: Defaults, *changes: Change) -> Defaults:
    """The edition after another one: its rows, and those that changed.

    Raises:
        ValueError: A change that is none: no such row, another type, the value of before, or no reason.
    """
    rows: dict[str, Any] = {}
    for change in changes:
        table, _, row = change.row.rpartition(".")
        home: Any = rows.get(table, getattr(before, table, None)) if table else before
        old = getattr(home, row, None)
        wrong = change.row in ("edition", "changes", "alerts") or type(old) is not type(
            change.value
        )
        if wrong or old == change.value or not change.reason:
            raise ValueError(
                f"edition {before.edition + 1}: `{change.row}`: {old!r} -> {change.value!r} is no change of a row"
            )
        rows[table or row] = home._replace(**{row: change.value}) if table else change.value
    return before._replace(edition=before.edition + 1, changes=changes, **rows)


SEARCHED_NODES = 16
"""Nodes a group at the most among which `parallelism: auto` is resolved: beyond, every token passes many stages. Of no
edition, since what is resolved is written into the file."""

EDITIONS: dict[int, Defaults] = {1: Defaults(edition=1)}
"""Every edition, by number. None is ever taken away or changed: fleets run on it."""


def editions() -> tuple[int, ...]:
    """The numbers of all editions, the newest last."""
    return tuple(sorted(EDITIONS))


def defaults(edition: int) -> Defaults:
    """The table of an edition.

    Raises:
        InputError: There is no such edition.
    """
    if edition not in EDITIONS:
        what, fix = edition_fault(edition)
        at = InputPath(("defaults",))
        raise InputError([Finding(code=EDITION_UNKNOWN, at=at, what=what, fix=fix)])
    return EDITIONS[edition]


def edition_fault(edition: int) -> tuple[str, str]:
    """What is wrong with the number of no edition, and what to write instead."""
    known = ", ".join(map(str, editions()))
    what = f"there is no edition {edition} of the defaults; this release knows {known}"
    newer = edition > editions()[-1]
    fix = f"write `defaults: {editions()[-1]}`{', or install a newer gangform' if newer else ''}"
    return what, fix
