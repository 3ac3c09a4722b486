"""A folder to put manifests in, and lint run over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gangform.lint.given import beside
from gangform.lint.report import Report, lint
from gangform.lint.sources import find

Lint = Callable[..., Report]

SET = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: {name}
  namespace: llm
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      metadata:
        labels: {{app: {name}}}
      spec:
        containers:
          - {{name: engine, ports: [{{containerPort: 80}}],
            image: "registry.example.net/engine:1.0"}}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: api
  namespace: llm
spec:
  selector:
    app: {app}
  ports:
    - port: 80
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | bytes], str]:
    """Put a file into the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


@pytest.fixture
def run() -> Lint:
    """Lint what is named; `given` are files of facts, `stdin` what comes in."""

    def run(*names: str, given: tuple[str, ...] = (), stdin: bytes = b"") -> Report:
        report = lint(find(names, lambda: stdin), beside(given, {}))
        assert report.failed == ()
        return report

    return run


@pytest.fixture
def service() -> str:
    """A Service that selects the pods of an app, to be filled in by `format(app=…)`."""
    return SERVICE


@pytest.fixture
def workload() -> str:
    """A set of groups, to be filled in by `format(name=…)`."""
    return SET
