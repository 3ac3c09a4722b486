"""Published images of engines: which release a tag is, and which programs a release has no more.

Only images that the projects themselves publish: what somebody else's image holds is not known by its name.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from gangform.apis.versions import Release
from gangform.engines.ray import RAY, chooses_ray, starts_ray
from gangform.engines.shell import Start

_WITHOUT_RAY: Final = Release(0, 19)
"""The first release of vLLM whose images carry no Ray (`peers`, direction of travel; cases h15)."""
_IMAGE: Final = re.compile(
    r"^(?:(?:docker\.io|registry-1\.docker\.io|index\.docker\.io|public\.ecr\.aws)/)?"
    r"(?:vllm/(?P<vllm>vllm-openai)|lmsysorg/(?P<sglang>sglang))"
    r"(?::(?P<tag>[\w.-]+))?(?:@(?P<digest>\S+))?$"
)
_RELEASE_TAG: Final = re.compile(r"^v?[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}(?:\.post[0-9]+)?(?:-.*)?$")
_MOVING: Final = frozenset({"", "latest", "nightly"})


class Published(NamedTuple):
    """An image of an engine's own project."""

    engine: str
    release: Release | None
    """`None` for a tag that moves, which stands for the newest, or a digest alone."""
    moves: bool
    lacks: frozenset[str]
    """Programs that older images had and this one has not."""


def published(image: str) -> Published | None:
    """What is known of an image by its name; `None` for any other than those that projects publish."""
    found = _IMAGE.match(image)
    if found is None:
        return None
    engine = next(name for name in ("vllm", "sglang") if found[name])
    tag = found["tag"] or ""
    release = None
    if _RELEASE_TAG.match(tag):
        release = Release.parse(re.split(r"-|\.post", tag)[0])
    moves = release is None and tag in _MOVING and not found["digest"]
    lost = moves or (release is not None and release >= _WITHOUT_RAY)
    lacks = frozenset({RAY}) if found["vllm"] and lost else frozenset[str]()
    return Published(engine, release, moves, lacks)


def programs(start: Start) -> frozenset[str]:
    """Programs, of those that an image may lack, that a container surely needs."""
    needed = any(starts_ray(one) or chooses_ray(one.words) for one in start.commands)
    needed = needed or chooses_ray(start.arguments or ())
    return frozenset({RAY}) if needed else frozenset()
