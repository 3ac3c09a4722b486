"""The end of a control plane; the last module of its flavour by name, so that nobody has to start it again."""

from __future__ import annotations

from tests.cluster import processes
from tests.cluster.conftest import Planes
from tests.cluster.control_plane import ControlPlane


def test_stop_leaves_no_process_and_no_folder(plain_plane: ControlPlane, planes: Planes) -> None:
    running = plain_plane
    numbers = [*running.site.processes.numbers().values(), running.site.processes.keeper]
    assert len(numbers) == 7
    assert all(map(processes.started, numbers))
    planes.stop()
    assert not any(map(processes.started, numbers))
    assert not running.site.folder.exists()
