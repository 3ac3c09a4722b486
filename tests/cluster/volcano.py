"""Volcano: admission, controllers and scheduler, with the scheduler plugins that a cluster declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.cluster import crds, webhooks
from tests.cluster.api import Object
from tests.cluster.site import LOOPBACK, Site

NAMESPACE = "volcano-system"
CRDS = (
    "batch.volcano.sh",
    "bus.volcano.sh",
    "config.volcano.sh",
    "flow.volcano.sh",
    "nodeinfo.volcano.sh",
    "scheduling.volcano.sh",
    "shard.volcano.sh",
    "topology.volcano.sh",
)
FIRST = ("priority", "gang", "conformance")
"""Plugins of the scheduler's first tier; those of the second may not overrule them."""


class Hook(NamedTuple):
    """A webhook of Volcano's that concerns what we write; the project lists them in its chart alone."""

    verb: str
    resource: str
    api_version: str
    operations: Sequence[str]


SCHEDULING, TOPOLOGY = "scheduling.volcano.sh/v1beta1", "topology.volcano.sh/v1alpha1"
HOOKS = (
    Hook("mutate", "podgroups", SCHEDULING, ("CREATE",)),
    Hook("mutate", "queues", SCHEDULING, ("CREATE",)),
    Hook("validate", "podgroups", SCHEDULING, ("CREATE",)),
    Hook("validate", "queues", SCHEDULING, ("CREATE", "UPDATE", "DELETE")),
    Hook("validate", "hypernodes", TOPOLOGY, ("CREATE", "UPDATE")),
)


def install_crds(site: Site) -> None:
    crds.install(site, site.sources.crds(*CRDS))


def start(site: Site, plugins: Sequence[str]) -> None:
    """Start all three. The webhook server waits for its configurations, the others need it for their queue."""
    site.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    webhooks.install(site, _configurations(), prefix="", port="volcano-webhook")
    files = site.certificates
    site.start(
        "vc-webhook-manager",
        f"--kubeconfig={site.kubeconfig}",
        f"--tls-cert-file={files.server}",
        f"--tls-private-key-file={files.server_key}",
        f"--ca-cert-file={files.authority}",
        f"--listen-address={LOOPBACK}",
        f"--port={site.port('volcano-webhook')}",
        f"--webhook-url={site.url('volcano-webhook')}",
        f"--enabled-admission={','.join(f'/{hook.resource}/{hook.verb}' for hook in HOOKS)}",
    )
    site.wait("vc-webhook-manager", lambda: site.listens("volcano-webhook"))
    shared = (f"--kubeconfig={site.kubeconfig}", "--leader-elect=false")
    site.start(
        "vc-controller-manager",
        *shared,
        f"--listen-address={site.address('volcano-controllers')}",
        f"--healthz-address={site.address('volcano-controllers-health')}",
    )
    site.start(
        "vc-scheduler",
        *shared,
        f"--scheduler-conf={site.write('volcano-scheduler.yaml', configuration(plugins))}",
        f"--listen-address={site.address('volcano-scheduler')}",
        f"--healthz-address={site.address('volcano-scheduler-health')}",
        "--cache-dumper=false",
        f"--cache-dump-dir={site.folder}",
        "--v=3",
    )


def finish(site: Site) -> None:
    """Wait for the queue that Volcano makes by itself."""
    path = f"/apis/{SCHEDULING}/queues/default"
    site.wait("vc-controller-manager", lambda: site.api.get(path)["status"]["state"] == "Open")


def configuration(plugins: Sequence[str]) -> str:
    """The scheduler's configuration for these plugins."""
    lines = ['actions: "enqueue, allocate, backfill"', "tiers:"]
    for tier in (
        [plugin for plugin in plugins if plugin in FIRST],
        [plugin for plugin in plugins if plugin not in FIRST],
    ):
        lines += ["- plugins:"] * bool(tier)
        lines += [f"  - name: {plugin}" for plugin in tier]
    return "\n".join([*lines, ""])


def _configurations() -> Iterator[Object]:
    for hook in HOOKS:
        group, _, release = hook.api_version.partition("/")
        kind = "MutatingWebhookConfiguration" if hook.verb == "mutate" else None
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind or "ValidatingWebhookConfiguration",
            # The server looks its configurations up by these names.
            "metadata": {"name": f"volcano-admission-service-{hook.resource}-{hook.verb}"},
            "webhooks": [
                {
                    "name": f"{hook.verb}{hook.resource}.volcano.sh",
                    "admissionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"path": f"/{hook.resource}/{hook.verb}"}},
                    "failurePolicy": "Fail",
                    "sideEffects": "NoneOnDryRun",
                    "timeoutSeconds": 10,
                    "rules": [
                        {
                            "apiGroups": [group],
                            "apiVersions": [release],
                            "operations": list(hook.operations),
                            "resources": [hook.resource],
                        }
                    ],
                }
            ],
        }
