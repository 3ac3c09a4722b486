"""A foreign vLLM command line in the words of a serving's inputs, for those who begin with what runs.

A flag that an input says becomes that input; one that gangform writes by itself is left out; every other is an argument
as it was written. Where the value is a variable or a word that no input takes, the flag is named with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from gangform.documents.document import Manifest
from gangform.engines.engine import Translation
from gangform.engines.flags import Given, is_number, last, value
from gangform.engines.vllm_args import OWNED, given, model_of, positional, positive
from gangform.engines.vllm_read import server_words
from gangform.engines.vllm_words import amount

_SIZES: Final = {
    "--tensor-parallel-size": "tensor",
    "--pipeline-parallel-size": "pipeline",
    "--data-parallel-size": "data",
    "--prefill-context-parallel-size": "prefillContext",
    "--decode-context-parallel-size": "decodeContext",
}
_EXPERTS: Final = "--enable-expert-parallel"
_EXECUTOR: Final = "--distributed-executor-backend"
_CACHE: Final = "--kv-cache-dtype"
_SHARE: Final = "--gpu-memory-utilization"
_OURS: Final = {"--port": "8000", "--master-port": "29501"}
"""Flags whose value gangform always writes so."""


def translate(container: Manifest) -> Translation | None:
    """The command line of a container; `None`: not vLLM, or not certain."""
    words = server_words(container)
    if words is None:
        return None
    flags = given(words)
    model = model_of(words, flags)
    parallelism: dict[str, int | bool] = {}
    unread: list[tuple[str, str]] = []
    unsized: list[str] = []
    for flag, key in _SIZES.items():
        found = last(flags, flag)
        if found is not None and is_number(found.value or ""):
            if key == "tensor" or found.value != "1":
                parallelism[key] = int(found.value or "")
        elif found is not None:
            unsized.append(key)
            unread.append((_written(words, found), "the number is not written out"))
    if last(flags, _EXPERTS) is not None:
        parallelism["expertParallel"] = True
    length = last(flags, "--max-model-len")
    context = (amount(length.value or "") or None) if length is not None else None
    if length is not None and context is None:
        unread.append((_written(words, length), "the length is not written out"))
    options: dict[str, Any] = {}
    if re.fullmatch(r"0?\.[0-9]+|1(\.0+)?", value(flags, _SHARE)):
        options["utilization"] = value(flags, _SHARE)
    if value(flags, _CACHE) == "fp8":
        options["kvCacheType"] = "fp8"
    args, left = _rest(words[1:] if positional(words) else words, options)
    return Translation(
        model=model,
        served_name=value(flags, "--served-model-name") or model,
        context=context,
        parallelism=parallelism,
        unsized=tuple(unsized),
        options=options,
        args=tuple(args),
        unread=(*unread, *left),
    )


def _rest(words: Sequence[str], options: dict[str, Any]) -> tuple[list[str], list[tuple[str, str]]]:
    """Words that are arguments of the user's, and those that are left out with the reason."""
    args: list[str] = []
    left: list[tuple[str, str]] = []
    flags = {one.at: one for one in given(words)}
    for index, word in enumerate(words):
        one = flags.get(index)
        if one is None:
            continue
        after = _values(words, index, flags)
        owned = positive(one.flag) in OWNED
        if why := _dropped(one, options, owned=owned):
            left.append((" ".join([word, *after]), why))
        elif not owned and one.flag != _EXECUTOR and not _said(one, options):
            args += [word, *after]
        elif owned and len(after) > 1:
            left.append((" ".join(after[1:]), f"{one.flag} takes one value here"))
    return args, left


def _values(words: Sequence[str], index: int, flags: dict[int, Given]) -> list[str]:
    """The words that belong to a flag: those up to the next one, none where it carries its value itself."""
    end = next((at for at in range(index + 1, len(words)) if at in flags), len(words))
    return [*words[index + 1 : end]]


def _said(one: Given, options: dict[str, Any]) -> bool:
    """Whether an input of the engine says it."""
    return one.flag == _CACHE and ("kvCacheType" in options or one.value == "auto")


def _dropped(one: Given, options: dict[str, Any], *, owned: bool) -> str:
    """Why a flag is neither an input, nor an argument, nor written alike by gangform; empty where it is one of them."""
    if one.flag in _OURS and one.value != _OURS[one.flag]:
        return f"gangform writes {one.flag}={_OURS[one.flag]}"
    if one.flag == _EXECUTOR and one.value != "mp":
        return "gangform joins nodes without it"
    if one.flag == _SHARE and "utilization" not in options:
        return "the share is not written out"
    if owned and one.flag not in OWNED:
        return "the plan decides it"
    local = one.flag.startswith("--data-parallel-") and one.flag != "--data-parallel-size"
    return "the plan places data ranks by itself" if owned and local else ""


def _written(words: Sequence[str], one: Given) -> str:
    return " ".join(_all(words, one))


def _all(words: Sequence[str], one: Given) -> Iterator[str]:
    yield words[one.at]
    if one.value is not None and "=" not in words[one.at]:
        yield one.value
