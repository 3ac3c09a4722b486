"""The series of queues and of a configured exporter, in the normal state and as something goes wrong."""

from __future__ import annotations

from tests.signals.scenario import Fires, Scenario, Series, series, steady, then
from tests.signals.state_metrics_scenarios import of_set

ROLES = ("leader", "follower")


def of_kueue(name: str, queue: str = "serving", **labels: str) -> str:
    inside = ",".join(
        f'{key}="{value}"' for key, value in {"cluster_queue": queue, **labels}.items()
    )
    return f"kueue_{name}{{{inside}}}"


def pending(status: str, role: str = "leader", queue: str = "serving") -> str:
    return of_kueue("pending_workloads", queue, status=status, replica_role=role)


def cause(name: str, role: str = "leader", queue: str = "serving") -> str:
    return of_kueue(
        "unadmitted_workloads",
        queue,
        reason="NoReservation",
        underlying_cause=name,
        replica_role=role,
    )


def waited(bound: str, queue: str = "serving") -> str:
    return of_kueue("admission_wait_time_seconds_bucket", queue, le=bound)


def admissions(queue: str = "serving") -> str:
    return of_kueue("admission_wait_time_seconds_count", queue)


def of_class(name: str) -> str:
    """The same of another priority class."""
    return name.replace("}", ',priority_class="high"}')


def evictions(reason: str, queue: str = "serving") -> str:
    return of_kueue("evicted_workloads_total", queue, reason=reason, underlying_cause="")


def _of_neighbour() -> Series:
    other = "serving-x"
    return {
        pending("active", queue=other): steady(5),
        cause("Misconfigured", queue=other): steady(5),
        waited("640", other): steady(0),
        admissions(other): f"0+1x{120}",
        evictions("Preempted", other): f"0+1x{120}",
    }


KUEUE: Series = {
    **{pending(status, role): steady(0) for status in ("active", "inadmissible") for role in ROLES},
    cause("WaitingForQuota"): steady(0),
    waited("320"): steady(7),
    waited("640"): steady(9),
    admissions(): steady(10),
    evictions("PodsReadyTimeout"): steady(3),
    **_of_neighbour(),
}


def fires(name: str, value: float = 1, **labels: str) -> Fires:
    return Fires(name, value, {"cluster_queue": "serving", **labels})


WAITS = fires("QueuePending", 2)
PLACELESS = fires("QueueUnadmittedByReason", 2, underlying_cause="TopologyPlacementFailed")
SLOW = fires("QueueAdmissionSlow", 0.75)
GONE = fires("QueueAbsent")


def out(reason: str, value: float = 1) -> Fires:
    return fires("QueueGroupsEvicted", value, reason=reason)


FOUR_MORE = then((10, 10), (14, 1))
KUEUE_SCENARIOS = {
    "nothing waits": Scenario({}, {1: [], 90: []}),
    "groups wait, then they are let in": Scenario(
        {pending("inadmissible", role): then((0, 10), (2, 50), (0, 1)) for role in ROLES},
        {39: [], 40: [WAITS], 59: [WAITS], 61: []},
    ),
    "one waits after the other, and is counted as it is tried": Scenario(
        {
            pending("active"): then((0, 10), (2, 20), (0, 1)),
            pending("inadmissible"): then((0, 30), (2, 1)),
        },
        {39: [], 41: [WAITS]},
    ),
    "one is tried and another is put aside": Scenario(
        {
            pending(status, role): steady(1)
            for status in ("active", "inadmissible")
            for role in ROLES
        },
        {29: [], 30: [WAITS]},
    ),
    "one group waits": Scenario(
        {pending("inadmissible", role): steady(1) for role in ROLES},
        {29: [], 30: [fires("QueuePending")]},
    ),
    "no domain holds one group": Scenario(
        {cause("TopologyPlacementFailed", role): steady(1) for role in ROLES},
        {
            9: [],
            10: [fires("QueueUnadmittedByReason", 1, underlying_cause="TopologyPlacementFailed")],
        },
    ),
    "a rebuilt group waits for a while": Scenario(
        {pending("active"): then((0, 10), (1, 25), (0, 1))}, {34: [], 50: []}
    ),
    "no domain holds the groups": Scenario(
        {cause("TopologyPlacementFailed", role): then((0, 10), (2, 20), (0, 1)) for role in ROLES},
        {19: [], 20: [PLACELESS], 29: [PLACELESS], 31: []},
    ),
    "a follower is behind, and reasons differ": Scenario(
        {
            cause("TopologyPlacementFailed"): steady(1),
            cause("TopologyPlacementFailed", "follower"): steady(0),
            cause("TopologyPlacementFailed").replace("NoReservation", "Other"): steady(1),
        },
        {9: [], 10: [PLACELESS], 60: [PLACELESS]},
    ),
    "groups wait for quota that others will give back": Scenario(
        {cause("WaitingForQuota"): steady(3)}, {60: []}
    ),
    "most of those admitted had waited long": Scenario(
        {
            admissions(): FOUR_MORE,
            waited("640"): then((9, 10), (10, 1)),
            waited("320"): then((7, 10), (8, 1)),
        },
        {9: [], 15: [SLOW], 100: [SLOW]},
    ),
    "those of another priority wait too": Scenario(
        {
            admissions(): FOUR_MORE,
            waited("640"): then((9, 10), (10, 1)),
            of_class(admissions()): FOUR_MORE,
            of_class(waited("640")): then((9, 10), (10, 1)),
        },
        {9: [], 15: [SLOW]},
    ),
    "half of those admitted had waited long": Scenario(
        {admissions(): FOUR_MORE, waited("640"): then((9, 10), (11, 1))}, {15: [], 100: []}
    ),
    "few of those admitted had waited long": Scenario(
        {admissions(): FOUR_MORE, waited("640"): then((9, 10), (12, 1)), waited("320"): steady(7)},
        {15: [], 100: []},
    ),
    "a newer Prometheus writes bounds with a point": Scenario(
        {
            admissions(): FOUR_MORE,
            waited("640"): None,
            waited("640.0"): then((9, 10), (12, 1)),
        },
        {15: [], 100: []},
    ),
    "one more eviction": Scenario(
        {evictions("PodsReadyTimeout"): then((3, 55), (4, 1))},
        {54: [], 62: [out("PodsReadyTimeout")], 114: [out("PodsReadyTimeout")], 116: []},
    ),
    "the first eviction of its kind": Scenario(
        {evictions("Preempted"): f"_x62 {steady(1)}"},
        {61: [], 62: [out("Preempted")], 121: [out("Preempted")], 123: []},
    ),
    "Kueue is replaced, and evicts": Scenario(
        {
            evictions("PodsReadyTimeout"): "3+0x40 stale",
            evictions("PodsReadyTimeout").replace("{", '{pod="new",', 1): f"_x62 {steady(1)}",
        },
        {61: [], 62: [out("PodsReadyTimeout")], 121: [out("PodsReadyTimeout")], 123: []},
    ),
    "evictions of two priorities": Scenario(
        {
            evictions("PodsReadyTimeout"): then((3, 65), (4, 1)),
            of_class(evictions("PodsReadyTimeout")): then((3, 65), (4, 1)),
            evictions("Preempted"): f"_x65 {steady(1)}",
            of_class(evictions("Preempted")): f"_x65 {steady(1)}",
        },
        {64: [], 70: [out("PodsReadyTimeout", 2), out("Preempted", 2)]},
    ),
    "evictions of long ago, seen for the first time": Scenario(
        {key: f"_x62 {steady(3)}" for key in KUEUE}, {76: [], 90: []}
    ),
    "Kueue is restarted": Scenario(
        {
            evictions("PodsReadyTimeout"): "3+0x40 stale",
            **{
                key: f"{KUEUE[key].split('+')[0]}+0x40 stale"
                for key in (admissions(), waited("640"))
            },
        },
        {45: [], 90: [], 110: []},
    ),
    "Kueue's metrics are not collected": Scenario(dict.fromkeys(KUEUE), {14: [], 15: [GONE]}),
    "the queue is deleted": Scenario(
        {key: "0+0x10 stale" for key in KUEUE if "serving-x" not in key}, {25: [], 26: [GONE]}
    ),
}


def of_volcano(phase: str, queue: str = "serving") -> str:
    return f'volcano_queue_pod_group_{phase}_count{{queue_name="{queue}"}}'


VOLCANO: Series = {
    of_volcano("pending"): steady(0),
    of_volcano("inqueue"): steady(0),
    of_volcano("running"): steady(3),
    of_volcano("pending", "serving-x"): steady(2),
    of_volcano("inqueue", "serving-x"): steady(2),
}
TWO = Fires("QueuePending", 2, {"queue_name": "serving"})
VOLCANO_SCENARIOS = {
    "nothing waits": Scenario({}, {1: [], 90: []}),
    "gangs are taken into the queue and find no room, then they do": Scenario(
        {
            of_volcano("pending"): then((0, 10), (2, 5), (1, 45), (0, 1)),
            of_volcano("inqueue"): then((0, 15), (1, 45), (0, 1)),
        },
        {39: [], 40: [TWO], 59: [TWO], 61: []},
    ),
    "the controller manager is replaced while gangs wait": Scenario(
        {
            of_volcano("pending").replace("}", ',instance="new"}'): steady(1),
            of_volcano("inqueue").replace("}", ',instance="new"}'): steady(1),
        },
        {29: [], 30: [TWO]},
    ),
    "both controller managers show the gangs that wait": Scenario(
        {
            name: steady(1)
            for each in (of_volcano("pending"), of_volcano("inqueue"))
            for name in (each, each.replace("}", ',instance="new"}'))
        },
        {29: [], 30: [TWO]},
    ),
    "one gang waits": Scenario(
        {of_volcano("inqueue"): steady(1)},
        {29: [], 30: [Fires("QueuePending", 1, {"queue_name": "serving"})]},
    ),
    "a gang waits for a while": Scenario(
        {of_volcano("inqueue"): then((0, 10), (1, 25), (0, 1))}, {34: [], 50: []}
    ),
    "the controller manager's metrics are not collected": Scenario(
        dict.fromkeys(VOLCANO),
        {14: [], 15: [Fires("QueueAbsent", 1, {"queue_name": "serving"})]},
    ),
}

SETS = of_set("created")
GROUPS = of_set("status_replicas")
WORKLOADS = series(
    "kueue_workload_created", customresource_kind="Workload", workload="a", owner_name="llm"
)
STATEFUL = series("kube_statefulset_replicas", statefulset="llm")
SHOWN: Series = {
    SETS: steady(1700000000),
    GROUPS: steady(2),
    WORKLOADS: steady(1700000000),
    STATEFUL: steady(2),
}


def unseen(kind: str) -> Fires:
    labels = {"job": "kube-state-metrics", "customresource_kind": kind}
    return Fires("StateMetricsMissing", 1, labels)


SHOWN_SCENARIOS = {
    "all is shown": Scenario({}, {1: [], 90: []}),
    "kube-state-metrics is a stock one, and then it is configured": Scenario(
        {
            SETS: f"_x40 {steady(1)}",
            GROUPS: f"_x40 {steady(2)}",
            WORKLOADS: f"_x40 {steady(1)}",
        },
        {14: [], 15: [unseen("LeaderWorkerSet")], 39: [unseen("LeaderWorkerSet")], 41: []},
    ),
    "it may not list Workloads": Scenario(
        {WORKLOADS: None}, {14: [], 15: [unseen("Workload")], 90: [unseen("Workload")]}
    ),
    "it may not list the Workload of the only group": Scenario(
        {WORKLOADS: None, GROUPS: steady(1)}, {14: [], 15: [unseen("Workload")]}
    ),
    "everything is scaled to zero": Scenario({WORKLOADS: None, GROUPS: steady(0)}, {90: []}),
    "nothing is applied yet": Scenario(dict.fromkeys(SHOWN), {90: []}),
    "only sets of others are there": Scenario(
        {
            **dict.fromkeys(SHOWN),
            STATEFUL.replace('"llm"', '"web"'): steady(2),
            STATEFUL.replace('"m"', '"other"'): steady(2),
        },
        {90: []},
    ),
    "only groups of others are there": Scenario(
        {
            WORKLOADS: None,
            GROUPS: steady(0),
            GROUPS.replace('"llm"', '"web"'): steady(2),
            GROUPS.replace('"m"', '"other"'): steady(2),
        },
        {90: []},
    ),
    "its restart takes a while": Scenario(
        {SETS: f"1+0x10 stale _x9 {steady(1)}"}, {15: [], 26: [], 60: []}
    ),
}
