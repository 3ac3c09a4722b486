"""Who answers for `external.metrics.k8s.io`: a number that a test sets, behind the API server's aggregation layer.

In the place of an adapter: what the autoscaler asks is asked of the API server, which hands it on to this server. The
Service that it finds it by is an external name for this machine, since there is no network of pods.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from tests.cluster.api import Object
from tests.cluster.certificates import METRICS
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import LOOPBACK

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
ROOT = f"/apis/{GROUP}/{VERSION}"
RESOURCES: Object = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/{VERSION}",
    "resources": [
        {
            "name": "metrics",
            "singularName": "",
            "namespaced": True,
            "kind": "ExternalMetricValueList",
            "verbs": ["get"],
        }
    ],
}


class Question(NamedTuple):
    """What an autoscaler asked for."""

    namespace: str
    metric: str
    labels: frozenset[str]
    """Of its selector, as `key=value`."""


class Load:
    """The number that is answered, whatever metric is asked for."""

    def __init__(self) -> None:
        self.value: int | None = None
        """`None`: no series has the metric."""
        self.asked: set[Question] = set()

    def answer(self, target: str) -> Object | None:
        """What a GET of the server gives; `None`: there is no such thing."""
        parts = urlsplit(target)
        if parts.path == ROOT:
            return RESOURCES
        root, _, rest = unquote(parts.path).partition("/namespaces/")
        names = rest.split("/")
        if root != ROOT or len(names) != 2:
            return None  # what else an API server may have, of which clients ask
        labels = parse_qs(parts.query).get("labelSelector", [""])[0].split(",")
        self.asked.add(Question(names[0], names[1], frozenset(labels) - {""}))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        item = {"metricName": names[1], "metricLabels": {}, "timestamp": now}
        return {
            "kind": "ExternalMetricValueList",
            "apiVersion": f"{GROUP}/{VERSION}",
            "metadata": {},
            "items": [] if self.value is None else [{**item, "value": str(self.value)}],
        }


@contextmanager
def external_metrics(plane: ControlPlane) -> Iterator[Load]:
    """Serve the kind for as long as the block lasts. Afterwards the API server does not know it any more.

    It has to go before namespaces do: they wait until every kind can be listed.
    """
    load, site = Load(), plane.site
    server = ThreadingHTTPServer((LOOPBACK, site.port("metrics")), _handler(load))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(site.certificates.server, site.certificates.server_key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    name, _, space = METRICS.removesuffix(".svc").partition(".")
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": space},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    registration = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{VERSION}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": name, "namespace": space, "port": site.port("metrics")},
            "caBundle": site.certificates.bundle,
        },
    }
    paths = [plane.api.path_of(plane.api.apply(each).object) for each in (service, registration)]
    try:
        site.wait(GROUP, lambda: _available(plane.api.get(paths[1])))
        yield load
    finally:
        for path in reversed(paths):
            plane.api.delete(path)
        server.shutdown()
        server.server_close()
        thread.join()


def _available(registration: Object) -> bool:
    conditions = registration.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


def _handler(load: Load) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = load.answer(self.path)
            content = json.dumps(answer or {}).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: what was asked is in `asked`."""

    return Handler
