"""A storm of damaged inputs: whatever is written, a fleet or findings with places; never a traceback."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from gangform.findings import InputPath
from gangform.inputs.load import LoadError, load_text

GOOD = (Path(__file__).parent / "fleet.yaml").read_text()


def damaged(dice: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(lines))
        line = lines[at]
        spot = dice.randrange(len(line))
        what = dice.randrange(10)
        if what == 0 and len(lines) > 1:
            del lines[at]
            continue
        if what == 1:
            line += line
        elif what == 2:
            value = dice.choice(
                [
                    "3",
                    '"x"',
                    "[]",
                    "{}",
                    "1.5",
                    "true",
                    "~",
                    "",
                    "[1, {a: 2}]",
                    "2024-01-01",
                    "0x1f",
                ]
            )
            line = f"{line.partition(':')[0]}: {value}\n"
        elif what == 3:
            line = line[:spot] + line[spot + 1 :]
        elif what == 4:
            line = (
                line[:spot]
                + dice.choice("{}[]:,#&*!|>'\"%@`\t-?\n\x00é\u2028\ufeffa1_")
                + line[spot:]
            )
        elif what == 5:
            line = line[:spot] + line[spot : spot + 2][::-1] + line[spot + 2 :]
        elif what == 6:
            line = " " * dice.randint(0, 8) + line.lstrip(" ")
        elif what == 7:
            other = dice.randrange(len(lines))
            line, lines[other] = lines[other], line
        elif what == 8:
            line = re.sub(
                r"\d+", lambda _: dice.choice(["-1", "0", "9" * 40, "1e9", "x", "08", "1_0"]), line
            )
        else:
            line = line[:spot] + "\n"
        lines[at] = line
    return "".join(lines)


@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_file_is_a_fleet_or_findings_with_places(seed: int) -> None:
    dice = random.Random(seed)
    refused = 0
    for _ in range(60):
        text = damaged(dice, GOOD)
        try:
            load_text(text)
        except LoadError as error:
            refused += 1
            assert error.findings
            for found in error.findings:
                assert isinstance(found.at, InputPath)
                span = error.spans.span_of(found)
                assert span is not None and 1 <= span.line <= text.count("\n") + 2, text
                assert found.what and found.fix and "\n" not in found.what + found.fix
                assert "function-" not in error.spans.where(found)
                assert "literal[" not in error.spans.where(found)
    assert refused > 30
