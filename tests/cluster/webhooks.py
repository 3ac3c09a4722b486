"""Webhook configurations as the projects list them, turned from Services to URLs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.cluster.api import Object
from tests.cluster.site import Site


def install(
    site: Site,
    configurations: Iterable[Object],
    *,
    prefix: str,
    port: str,
    narrowed: Mapping[str, Object] | None = None,
) -> None:
    """Apply configurations whose webhooks all listen on one port.

    Args:
        site: Where.
        configurations: What to apply.
        prefix: Before each name: the projects' own lists all use the same names.
        port: Where the webhooks listen.
        narrowed: Selectors by the webhook's name, as the projects' overlays add them.
    """
    for configuration in configurations:
        name = prefix + configuration["metadata"]["name"]
        hooks = [
            {
                **hook,
                **(narrowed or {}).get(hook["name"], {}),
                "clientConfig": site.webhook(port, hook["clientConfig"]["service"]["path"]),
            }
            for hook in configuration["webhooks"]
        ]
        site.api.apply({**configuration, "metadata": {"name": name}, "webhooks": hooks})
