"""Objects as the API server stores them."""

from __future__ import annotations

from gangform.documents.document import Manifest


def complete(manifest: Manifest) -> Manifest:
    """The manifest with the server's defaults and canonical quantities written out; idempotent."""
    raise NotImplementedError
