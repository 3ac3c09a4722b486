"""Proxies beside an engine: which port of the pod they hand requests on to."""

from __future__ import annotations

import re
from typing import Final

from gangform.documents.document import Manifest, text
from gangform.engines.flags import given, last, number
from gangform.engines.shell import start

_SIDECAR: Final = re.compile(r"(?:^|/)llm-d-(routing|router-disagg)-sidecar(?::|@|$)")
_UPSTREAM: Final = 8200
"""The default of the image called `llm-d-router-disagg-sidecar`; older ones have had others."""
_FLAGS: Final = {"--vllm-port": "--model-server-port"}


def upstream(container: Manifest) -> int | None:
    """The port that a routing sidecar takes the engine to listen on; `None` for anything else (`engines §3.2`)."""
    found = _SIDECAR.search(text(container, "image"))
    if found is None:
        return None
    begun = start(container)
    if begun is None or begun.script is not None:
        return None
    words = begun.arguments if begun.arguments is not None else begun.commands[0].words[1:]
    flags = given(words, _FLAGS)
    unknown = last(flags, "--model-server-port") is None and found[1] == "routing"
    if last(flags, "--config") or unknown:
        return None
    return number(flags, "--model-server-port", _UPSTREAM)
