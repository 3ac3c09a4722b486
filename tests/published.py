"""Files of ours and of others in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from gangform.bundle import Bundle
from gangform.publish import folders
from gangform.publish.folders import EVERYTHING, Differences, Outcome, Output, Scope
from gangform.synth import Rendered

LABELLED = "metadata:\n  name: {name}\n  labels:\n    app.kubernetes.io/managed-by: gangform\n"


def ours(name: str, *, more: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\n{LABELLED.format(name=name)}{more}"


def rendered(files: Mapping[str, str]) -> list[Rendered]:
    return [
        Rendered(path=path, content=text.encode(), bundle=cast(Bundle, None))
        for path, text in files.items()
    ]


def publish(files: Sequence[Rendered], root: Path, *, scope: Scope = EVERYTHING) -> Outcome:
    """Manifests alone."""
    (outcome,) = folders.publish([Output(root, files, scope=scope)])
    return outcome


def compare(files: Sequence[Rendered], root: Path, *, scope: Scope = EVERYTHING) -> Differences:
    (found,) = folders.compare([Output(root, files, scope=scope)])
    return found


def fill(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def content(root: Path) -> dict[str, str]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


NEW = {"a/r1.k8s.yaml": ours("r1"), "a/foundation.k8s.yaml": ours("f"), "b/r1.k8s.yaml": ours("b")}


FOREIGN = {
    "hand.k8s.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
    "a/half.k8s.yaml": ours("x") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n",
    "a/helm.k8s.yaml": ours("x").replace(": gangform", ": Helm"),
    "a/comment.k8s.yaml": "# app.kubernetes.io/managed-by: gangform\n",
    "a/empty.k8s.yaml": "",
    "a/broken.k8s.yaml": ours("x") + "  broken: [\n",
    "a/annotated.k8s.yaml": ours("x").replace("labels", "annotations"),
    "a/plain.yaml": ours("x"),
    "a/.hidden.k8s.yaml": ours("x"),
    "a/notes.txt": "mine",
    ".git/x.k8s.yaml": ours("x"),
}
