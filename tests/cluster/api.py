"""The API server over HTTPS, as plain JSON: one kept connection a thread, and watches that miss no event.

Paths are those of the server (`/api/v1/namespaces/llm/pods`); `Api.path` makes them from a kind, by discovery.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

Object = dict[str, Any]
"""An object of the API as plain data."""

STARTING = "storage is (re)initializing"
"""What the server answers, with status 429, for some moments after a kind was established."""

MANAGER = "gangform-tests"
"""Field manager of what tests apply."""


class ApiError(Exception):
    """The server said no."""

    def __init__(self, status: int, answer: Object) -> None:
        self.status = status
        """The HTTP status: 403 by a webhook, 422 by a schema, 429 by a disruption budget …"""
        self.answer = answer
        """The `Status` object."""
        self.message: str = answer.get("message", "")
        super().__init__(f"{status} {self.message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Where the server is, and the files that let a client in."""

    host: str
    port: int
    authority: Path
    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=str(self.authority))
        made.load_cert_chain(self.certificate, self.key)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What an apply answered."""

    object: Object
    """The object as the server holds it now, or would (dry run)."""
    created: bool
    warnings: tuple[str, ...]
    """Texts of the `Warning` headers."""


class Api:
    """The verbs of the API. Every one raises `ApiError` where the server refuses."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self._context = credentials.context()
        self._local = threading.local()
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    def connect(self, timeout: float = 60) -> http.client.HTTPSConnection:
        """A connection of its own; the caller closes it."""
        return http.client.HTTPSConnection(
            self.credentials.host, self.credentials.port, context=self._context, timeout=timeout
        )

    def close(self) -> None:
        """Close the kept connection of this thread; the next request makes another."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status below 400, headers and body of any request; asked again while a new kind is being made ready."""
        deadline = time.monotonic() + 30
        while True:
            try:
                return self._once(method, path, body, content_type=content_type, query=query)
            except ApiError as error:
                if STARTING not in error.message or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def _once(
        self,
        method: str,
        path: str,
        body: object,
        *,
        content_type: str,
        query: Mapping[str, str] | None,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        target = f"{path}?{urlencode(query)}" if query else path
        data = None if body is None else json.dumps(body)
        for attempt in range(2):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self.connect()
            try:
                connection.request(
                    method,
                    target,
                    data,
                    {"Content-Type": content_type, "Accept": "application/json"},
                )
                response = connection.getresponse()
                content = response.read()
                break
            except (http.client.HTTPException, OSError):
                # A kept connection may have been closed meanwhile; a new one that fails is a fault.
                self.close()
                if attempt:
                    raise
        if response.status >= 400:
            raise ApiError(response.status, _status(content))
        return response.status, response.headers, content

    def _json(self, method: str, path: str, body: object = None, **given: Any) -> Object:
        content = self.request(method, path, body, **given)[2]
        answer: Object = json.loads(content)
        return answer

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    def get(self, path: str) -> Object:
        """One object, or what else stands at the path."""
        return self._json("GET", path)

    def list(self, path: str, *, labels: str = "", fields: str = "") -> list[Object]:
        """The objects of a collection; each has its kind and apiVersion, which lists leave out."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        answer = self._json(
            "GET", path, query={key: value for key, value in query.items() if value}
        )
        kind = answer["kind"].removesuffix("List")
        return [
            {"apiVersion": answer["apiVersion"], "kind": kind, **item} for item in answer["items"]
        ]

    def find(self, path: str) -> Object | None:
        """One object, or `None` where there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def read(self, manifest: Object) -> Object:
        """The object that a manifest names, as the server holds it."""
        return self.get(self.path_of(manifest))

    # ── writing ──────────────────────────────────────────────────────────────────────────────────

    def create(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        """POST to a collection, or to a subresource."""
        return self._json("POST", path, body, query={"dryRun": "All"} if dry_run else None)

    def replace(self, path: str, body: Object) -> Object:
        return self._json("PUT", path, body)

    def merge(self, path: str, patch: Object) -> Object:
        """A JSON merge patch."""
        return self._json("PATCH", path, patch, content_type="application/merge-patch+json")

    def apply(
        self, manifest: Object, *, manager: str = MANAGER, force: bool = True, dry_run: bool = False
    ) -> Applied:
        """Server-side apply, with strict field validation: an unknown field is refused."""
        query = {
            "fieldManager": manager,
            "fieldValidation": "Strict",
            "force": "true" if force else "false",
            **({"dryRun": "All"} if dry_run else {}),
        }
        status, headers, content = self.request(
            "PATCH",
            self.path_of(manifest),
            manifest,
            content_type="application/apply-patch+yaml",
            query=query,
        )
        warnings = tuple(headers.get_all("Warning") or ())
        return Applied(object=json.loads(content), created=status == 201, warnings=warnings)

    def delete(self, path: str, *, grace: int | None = None, foreground: bool = False) -> None:
        """One object, or a whole collection; that it is gone already is fine."""
        options: Object = {"propagationPolicy": "Foreground" if foreground else "Background"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            self.request("DELETE", path, options)
        except ApiError as error:
            if error.status != 404:
                raise

    def evict(self, namespace: str, pod: str, *, dry_run: bool = False) -> int:
        """The status that an eviction answers: 201 allowed, 429 refused by a budget, 500 by two of them."""
        body: Object = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
        }
        if dry_run:
            body["deleteOptions"] = {"dryRun": ["All"]}
        try:
            return self.request(
                "POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction", body
            )[0]
        except ApiError as error:
            if error.status in (429, 500):
                return error.status
            raise

    def scale(self, path: str, replicas: int) -> None:
        """Set the replicas of an object through its scale subresource."""
        self.merge(f"{path}/scale", {"spec": {"replicas": replicas}})

    # ── paths ────────────────────────────────────────────────────────────────────────────────────

    def path(
        self, api_version: str, kind: str, *, namespace: str | None = None, name: str | None = None
    ) -> str:
        """The path of an object, or of a collection: `path("v1", "Pod", namespace="llm")`."""
        plural, namespaced = self._resource(api_version, kind)
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        place = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{root}{place}/{plural}" + (f"/{name}" if name else "")

    def path_of(self, manifest: Object) -> str:
        """The path of the object that a manifest names; `default` where it names no namespace."""
        metadata = manifest["metadata"]
        return self.path(
            manifest["apiVersion"],
            manifest["kind"],
            namespace=metadata.get("namespace", "default"),
            name=metadata["name"],
        )

    def _resource(self, api_version: str, kind: str) -> tuple[str, bool]:
        if (api_version, kind) not in self._resources:
            root = "/apis/" if "/" in api_version else "/api/"
            for each in self.get(f"{root}{api_version}")["resources"]:
                if "/" not in each["name"]:
                    self._resources[api_version, each["kind"]] = each["name"], each["namespaced"]
        try:
            return self._resources[api_version, kind]
        except KeyError:
            raise LookupError(f"the server knows no {kind} in {api_version}") from None


def _status(content: bytes) -> Object:
    try:
        answer: Object = json.loads(content)
    except ValueError:
        return {"message": content.decode(errors="replace")}
    return answer
