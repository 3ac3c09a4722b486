"""Complete, consistent Kubernetes bundles for multi-node LLM serving.

Every public name is resolved on first use: `import gangform` loads neither pydantic nor Node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangform.chart import ClusterFoundation, InferenceBundle, InferenceChart
    from gangform.findings import InputError
    from gangform.inputs.cluster import Cluster, Fleet
    from gangform.inputs.hardware import HardwareShape
    from gangform.inputs.load import load_fleet
    from gangform.inputs.model import ModelProfile
    from gangform.inputs.serving import Serving

__all__ = [
    "Cluster",
    "ClusterFoundation",
    "Fleet",
    "HardwareShape",
    "InferenceBundle",
    "InferenceChart",
    "InputError",
    "ModelProfile",
    "Serving",
    "load_fleet",
]

_HOMES = {
    "Cluster": "gangform.inputs.cluster",
    "ClusterFoundation": "gangform.chart",
    "Fleet": "gangform.inputs.cluster",
    "HardwareShape": "gangform.inputs.hardware",
    "InferenceBundle": "gangform.chart",
    "InferenceChart": "gangform.chart",
    "InputError": "gangform.findings",
    "ModelProfile": "gangform.inputs.model",
    "Serving": "gangform.inputs.serving",
    "load_fleet": "gangform.inputs.load",
}
"""Where each public name is defined."""


def __getattr__(name: str) -> object:
    """A public name, imported on first use; `__version__` is that of the installed package.

    Raises:
        AttributeError: There is no such name.
    """
    if name in _HOMES:
        from importlib import import_module

        value: object = getattr(import_module(_HOMES[name]), name)
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module `gangform` has no attribute `{name}`")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*__all__, "__version__"])


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gangform")
    except PackageNotFoundError:
        return "0+unknown"  # imported from a checkout that nobody installed
