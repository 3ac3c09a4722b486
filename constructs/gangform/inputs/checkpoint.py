"""A published checkpoint → a model profile: `config.json`, and what lies beside it.

What the files say is taken, what follows from them is calculated, and the source of each figure stands with it. A
model whose class is not described here is refused, with what has to be found out about it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from gangform.findings import Finding, InputError, InputPath, Severity, declare, either
from gangform.inputs.configuration import Configuration
from gangform.inputs.decoders import Decoder
from gangform.inputs.families import FAMILIES, decoder, strange
from gangform.inputs.model import ModelProfile
from gangform.inputs.nearest import nearest
from gangform.inputs.positions import limit
from gangform.inputs.quantization import Format, Storage, storage
from gangform.inputs.spelling import entry
from gangform.inputs.translate import translate
from gangform.units import Bytes

UNREADABLE = declare(
    "checkpoint-unreadable",
    "A file of a checkpoint that is not there, or that is no map in JSON",
    Severity.BREAKS,
    "design §3 ModelProfile",
)
UNKNOWN = declare(
    "architecture-unknown",
    "A model of a class whose layers nobody described",
    Severity.BREAKS,
    "engines §5.1",
)
INCOMPLETE = declare(
    "configuration-incomplete",
    "A configuration without facts that its class needs",
    Severity.BREAKS,
    "engines §5.1",
)
STORAGE_UNKNOWN = declare(
    "weights-format-unknown",
    "Weights that are stored in a way whose size is not known",
    Severity.BREAKS,
    "engines §5.2",
)
NO_REPOSITORY = declare(
    "repository-not-said",
    "Nothing in a checkpoint says the id that engines load it by",
    Severity.BREAKS,
    "design §3 ModelProfile",
)
DIFFERS = declare(
    "checkpoint-differs",
    "A checkpoint of another size than its configuration makes",
    Severity.DEGRADES,
    "engines §5.2",
)

CONFIG, INDEX, QUANTIZATION = "config.json", "model.safetensors.index.json", "hf_quant_config.json"
_APART = Fraction(2, 100)
"""By how much sizes may differ: nothing that is calculated here is further from what was published."""


class Imported(NamedTuple):
    """A profile, and what people should know of it."""

    profile: ModelProfile
    text: str
    """The file `profiles/models/NAME.yaml`."""
    findings: tuple[Finding, ...]


class _Files(NamedTuple):
    config: Mapping[str, Any]
    tensors: Mapping[str, Any] | None
    quantization: Mapping[str, Any]
    shown: str


def import_checkpoint(path: Path, *, repository: str | None, name: str | None) -> Imported:
    """The profile of a checkpoint.

    Args:
        path: Its folder, or its `config.json`; the files beside it are read where they are there.
        repository: The id that engines load it by; `None`: that of the hub's cache folder.
        name: What servings shall call it; `None`: the last part of the id, in small letters.

    Raises:
        InputError: A file cannot be read, or does not say what is needed; everything is said at once.
    """
    files = _read(path)
    repository = repository or _repository(path, files)
    config = Configuration(files.config)
    stored = storage(files.config, files.quantization)
    made = decoder(config)
    found = [
        one._replace(seen={**one.seen, "file": str(path)})
        for one in _faults(config, made, stored, repository, path)
    ]
    if found or made is None or repository is None or isinstance(stored, str):
        raise InputError(found)
    fields, counted = _fields(made, stored, files, repository, config)
    fields["name"] = name or usual_name(repository)
    profile = _checked(fields)
    remarks = _remarks(profile, counted, files, config)
    return Imported(profile, _text(profile), tuple(remarks))


def _checked(fields: dict[str, Any]) -> ModelProfile:
    try:
        return ModelProfile.model_validate(fields)
    except ValidationError as error:
        raise InputError(
            translate(
                error, ModelProfile, fields, lambda inside: ("models", fields["name"], *inside)
            )
        ) from None


def usual_name(repository: str) -> str:
    """What a model of the hub is called here: `Qwen/Qwen3-235B-A22B-FP8` is `qwen3-235b-a22b-fp8`."""
    last = repository.rpartition("/")[2].lower()
    return re.sub(r"[^a-z0-9.]+", "-", last).strip("-.") or "model"


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def _read(path: Path) -> _Files:
    file = path / CONFIG if path.is_dir() else path
    config = _json(file)
    index, quantization = file.parent / INDEX, file.parent / QUANTIZATION
    return _Files(
        config,
        _json(index) if index.is_file() else None,
        _json(quantization) if quantization.is_file() else {},
        str(path),
    )


def _json(file: Path) -> Mapping[str, Any]:
    what = ""
    value: Any = None
    try:
        value = json.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        what = f"there is no file {file}"
    except OSError as error:
        what = f"{file} cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        what = f"{file} is not JSON: {error}"
    if not what and not isinstance(value, dict):
        what = f"{file} holds no map"
    if what:
        fix = f"name a folder with {CONFIG}, or that file, as the hub has it"
        at, seen = InputPath(("models",)), {"file": str(file)}
        raise InputError([Finding(code=UNREADABLE, at=at, what=what, fix=fix, seen=seen)])
    found: Mapping[str, Any] = value
    return found


def _repository(path: Path, files: _Files) -> str | None:
    """From the folder of the hub's cache, `models--ORG--NAME/snapshots/…`; or from what the configuration kept."""
    for part in path.absolute().parts:
        if part.startswith("models--") and part.count("--") > 1:
            return part.removeprefix("models--").replace("--", "/", 1)
    kept = files.config.get("_name_or_path")
    return kept if isinstance(kept, str) and kept.count("/") == 1 and kept[0] not in "./" else None


# ── what is missing ──────────────────────────────────────────────────────────────────────────────


_BY_HAND = (
    "write a profile with `checkpoint`, `contextLimit` and `measured: {weightsPerGpu, kvBytesPerToken}` from an "
    "engine's log; for an architecture it takes what each layer keeps of a token, and which weights tensor ranks share"
)
_MOST = 10**15
"""Weights: a thousand times the largest model, and no size of which is too large for a number."""


def _faults(
    config: Configuration,
    made: Decoder | None,
    stored: Storage | str,
    repository: str | None,
    path: Path,
) -> Iterator[Finding]:
    at = InputPath(("models",))
    if repository is None:
        yield Finding(
            code=NO_REPOSITORY,
            at=at,
            what=f"no part of {path} is the hub's models--ORG--NAME, and {CONFIG} says no id",
            fix="write --repository ORG/NAME, or the path that the engine loads",
        )
    if made is None:
        named = ", ".join(config.classes) or "nothing"
        near = nearest(config.classes[0], FAMILIES) if config.classes else []
        like = f"; near it {either(near, 'and')}" if near else ""
        yield Finding(
            code=UNKNOWN,
            at=at,
            what=f"`architectures` says {named}, whose layers are not known here{like}",
            fix=_BY_HAND,
        )
    else:
        limit(config)
        odd = strange(config)
        if odd:
            yield Finding(
                code=UNKNOWN,
                at=at,
                what=f"{CONFIG} says {', '.join(odd)}, and a {config.classes[0]} is not known here to have that",
                fix=_BY_HAND,
            )
        if not config.missing and max(made.weights) > _MOST:
            config.missing.append("numbers of a size that a checkpoint has")
        missing = sorted(set(config.missing))
        if missing:
            yield Finding(
                code=INCOMPLETE,
                at=at,
                what=f"{CONFIG} of a {config.classes[0]} does not say {', '.join(missing)}",
                fix="take the file of the published model; one that was cut or merged lacks them",
            )
    if isinstance(stored, str):
        yield Finding(
            code=STORAGE_UNKNOWN,
            at=at,
            what=f"nothing here knows what {stored} takes",
            fix="write a profile by hand, with `checkpoint` as the size of all files, and `weights` the nearest format",
        )


# ── what is calculated ───────────────────────────────────────────────────────────────────────────


class _Class(NamedTuple):
    weights: int
    each: Fraction
    format: Format

    @property
    def size(self) -> int:
        return ceil(self.weights * self.each)


def _classes(made: Decoder, stored: Storage) -> dict[str, _Class]:
    """Each class of weights as it is stored, in the mean over the layers that have it."""
    shape, weights = made.architecture, made.weights
    layers, experts = shape["layers"], shape.get("experts")
    latent = shape["attention"]["kind"] == "mla"
    # Where a layer is one thing alone, few attend or mix.
    others = sum(one["layers"] for one in shape.get("states") or ())
    full = shape.get("full_layers")
    mixing = layers if full is None or shape.get("compressed") else full + others
    sparse = 0
    if experts is not None:
        sparse = experts.get("layers") or layers - (shape.get("dense_layers") or 0)
    kinds = {
        "experts": ("experts", sparse, weights.experts),
        "attention": ("attention", mixing, weights.attention),
        "replicated": ("replicated" if latent else "", mixing, weights.replicated),
        "dense": ("dense", sparse, weights.dense) if sparse else ("plain", layers, weights.dense),
        "embeddings": ("", 0, weights.embeddings),
    }
    found = {}
    for name, (kind, having, count) in kinds.items():
        each, usual = stored.plain.each, stored.plain
        if kind and count:
            first = shape.get("dense_layers") or 0 if kind in ("experts", "dense") else 0
            asked = range(min(first, layers - 1), layers)
            each, usual = stored.mean(kind, asked, max(1, min(having, layers)))
        found[name] = _Class(count, each, usual)
    return found


def _fields(
    made: Decoder, stored: Storage, files: _Files, repository: str, config: Configuration
) -> tuple[dict[str, Any], int]:
    """The fields of the profile but its name; and the bytes that its configuration makes."""
    layers, weights = made.architecture["layers"], made.weights
    classes = _classes(made, stored)
    most = max(classes.values(), key=lambda one: one.weights)
    draft, kept = _draft(made, classes, files, layers)
    counted = sum(one.size for one in classes.values()) + draft
    total = _total(files)
    origin = f"{CONFIG} of {repository}"
    context = limit(config)
    sources = {
        "weights": origin,
        "checkpoint": f"metadata.total_size in {INDEX}"
        if total
        else "calculated from weights by class and format",
        "parameters": "calculated from the architecture"
        + ("" if made.exact else "; not verified: small matrices are left out")
        + (f"; {' and '.join(config.media)} left out" if config.media else ""),
        "contextLimit": f"{context.said}, {origin}",
        "architecture": origin,
        **{f"architecture.{part}": f"{origin}; {note}" for part, note in made.notes.items()},
    }
    fields: dict[str, Any] = {
        "repository": repository,
        "weights": most.format.name,
        "checkpoint": Bytes(total or counted),
        "parameters": weights.loaded,
        "context_limit": context.tokens,
        "architecture": made.architecture,
        "sources": sources,
    }
    if most.format.block is not None:
        fields["quantization_block"] = most.format.block
        sources["quantizationBlock"] = f"weight_block_size, {origin}"
    if weights.experts:
        fields["expert_parameters"] = weights.experts
        sources["expertParameters"] = "calculated: layers x routed experts x their matrices"
    if draft:
        fields["draft"] = Bytes(draft)
        sources["draft"] = f"calculated: layers for multi-token prediction, {kept}"
    tensors = {
        name: {"size": Bytes(one.size), "format": one.format.name}
        for name, one in classes.items()
        if name != "dense" and one.weights
    }
    plain = len({one.each for one in classes.values() if one.weights}) == 1
    if not plain or made.architecture["attention"]["kind"] == "mla":
        fields["tensors"] = tensors
        sources["tensors"] = "calculated from weights by class and format"
    return fields, counted


def _draft(
    made: Decoder, classes: Mapping[str, _Class], files: _Files, layers: int
) -> tuple[int, str]:
    """Bytes of layers for multi-token prediction, where the checkpoint has them; and who says that it has."""
    weights = made.weights
    if not weights.draft:
        return 0, ""
    said = "not verified: taken to be in the checkpoint"
    if files.tensors is not None:
        names = files.tensors.get("weight_map")
        after = f"layers.{layers}."
        known = names if isinstance(names, Mapping) else ()
        if not any(after in name or name.startswith("mtp.") for name in known):
            return 0, ""
        said = f"which {INDEX} names"
    rest = weights.draft - weights.draft_experts - weights.draft_tables
    size = (
        weights.draft_experts * classes["experts"].each
        + weights.draft_tables * classes["embeddings"].each
        + rest * classes["attention"].each
    )
    return ceil(size), said


def _total(files: _Files) -> int:
    metadata = (files.tensors or {}).get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    # Some tools write it as a number with a point.
    return int(total) if isinstance(total, (int, float)) and 0 < total < 4 * _MOST else 0


def _remarks(
    profile: ModelProfile, counted: int, files: _Files, config: Configuration
) -> Iterator[Finding]:
    total = _total(files)
    # What other media weigh is in the total, and not counted.
    if not total or (config.media and total > counted):
        return
    if abs(total - counted) > _APART * counted:
        yield Finding(
            code=DIFFERS,
            at=InputPath(("models", profile.name, "checkpoint")),
            what=f"{INDEX} says {Bytes(total).human()}, the configuration makes {Bytes(counted).human()}",
            fix="look whether both files are of one model, and write `measured` from an engine's log where they are",
            seen={"index": str(total), "calculated": str(counted)},
        )


# ── the file ─────────────────────────────────────────────────────────────────────────────────────


def _text(profile: ModelProfile) -> str:
    """The profile as a file: what is set, in the order of the model."""
    plain = profile.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    for key in ("checkpoint", "draft"):
        if key in plain:
            plain[key] = str(int(getattr(profile, key)))
    lines = [line for key, value in plain.items() for line in entry(key, value)]
    return "\n".join([f"# Imported from the checkpoint of {profile.repository}.", *lines, ""])
