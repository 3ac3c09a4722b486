"""Namespaces taken away at once.

The server's own way takes six seconds for an empty one, and half the grace period of its pods for another: more
than most tests. So everything inside is deleted here, and what ends the namespace last is done here too.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.cluster.site import Site

LEFT = {"events", "bindings", "endpoints", "localsubjectaccessreviews"}
"""What nobody needs to delete: it follows, goes by itself, or is no object."""


def remove_namespaces(site: Site, names: Sequence[str]) -> None:
    """Delete namespaces with all they hold, controllers being given the time to let go of it."""
    if not names:
        return
    collections = _collections(site)
    for name in names:
        path = f"/api/v1/namespaces/{name}"
        # From here on nothing new can be made in it.
        site.api.delete(path)
        _empty(site, name, collections)
        ending = site.api.find(path)
        if ending is not None:
            site.api.replace(f"{path}/finalize", {**ending, "spec": {"finalizers": []}})
        site.wait(f"namespace {name} to be gone", lambda path=path: site.api.find(path) is None)  # type: ignore[misc]


def _collections(site: Site) -> list[tuple[str, str]]:
    """Group and version, and plural, of every namespaced kind that can be deleted; owners before pods."""
    versions = ["/api/v1"]
    for group in site.api.get("/apis")["groups"]:
        versions.append(f"/apis/{group['preferredVersion']['groupVersion']}")
    found = [
        (version, resource["name"])
        for version in versions
        for resource in site.api.get(version)["resources"]
        if resource["namespaced"] and "deletecollection" in resource["verbs"]
    ]
    return sorted(
        ((version, plural) for version, plural in found if plural not in LEFT),
        key=lambda one: one[1] == "pods",
    )


def _empty(site: Site, namespace: str, collections: Sequence[tuple[str, str]]) -> None:
    """Ask again until nothing is left: controllers take their finalizers off in between."""

    def empty() -> bool:
        left = 0
        for version, plural in collections:
            path = f"{version}/namespaces/{namespace}/{plural}"
            if found := site.api.list(path):
                site.api.delete(path, grace=0)
                left += len(found)
        return not left

    site.wait(f"everything in {namespace} to be gone", empty, within=120)
