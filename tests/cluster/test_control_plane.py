"""The control planes themselves: they come up, run groups, are reset between tests and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cluster import processes
from tests.cluster.api import ApiError, Object
from tests.cluster.binaries import Say
from tests.cluster.conftest import Planes
from tests.cluster.control_plane import PLAIN, ControlPlane
from tests.cluster.nodes import NOT_READY, ready
from tests.cluster.processes import Processes
from tests.cluster.watch import NotSeen, Watch, watching

LWS = "leaderworkerset.x-k8s.io/v1"
FLAVOURS = ("plain", "kueue", "volcano", "podgroup")


@pytest.fixture(params=FLAVOURS)
def plane(request: pytest.FixtureRequest) -> ControlPlane:
    running: ControlPlane = request.getfixturevalue(request.param)
    return running
