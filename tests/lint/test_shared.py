"""What lint says does not depend on how many processes say it, nor on what becomes of them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from gangform.documents.document import leaves
from gangform.lint.given import Beside
from gangform.lint.judging import Judging
from gangform.lint.known import Known
from gangform.lint.objects import content, pieces, read_piece
from gangform.lint.sets import sets
from gangform.lint.sources import find
from gangform.rules.rule import load

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no process is forked elsewhere")

HERE = f"""
import os, re, signal, sys, tempfile
from pathlib import Path
from gangform.lint import objects, report
from gangform.lint.given import beside
from gangform.lint.judging import Judging
from gangform.lint.sources import find
from gangform.rules.rule import RULES, load
os.chdir({str(ROOT)!r})
report._WORTH_SHARING = 0
me = os.getpid()
CASES = "tests/cases/lint"

def stream():
    texts = [path.read_text().removesuffix("\\n") for path in sorted(Path(CASES).glob("*.yaml"))]
    return "\\n---\\n".join(texts).encode()

def said(processes, names, stdin=b"", given=()):
    made = report.lint(find(names, lambda: stdin), beside(given, {{}}), processes)
    failed = [(each.code, each.document.key, repr(each.error)) for each in made.failed]
    return made._replace(failed=()), failed

def same(*names, processes=2, **more):
    alone = said(1, names, **more)
    print(len(alone[0].findings), len(alone[1]), said(processes, names, **more) == alone)
"""


def printed(code: str) -> list[str]:
    """The words that a program prints that begins as `HERE` does."""
    done = subprocess.run(
        [sys.executable, "-c", HERE + code], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def judged_alike(code: str, *, least: int, failed: int = 0) -> None:
    found, broken, equal = printed(code)
    assert int(found) >= least and int(broken) == failed
    assert equal == "True"


@pytest.mark.parametrize("processes", [2, 3])
def test_a_folder_of_many_sets(processes: int) -> None:
    judged_alike(f"same(CASES, processes={processes})", least=80)


@pytest.mark.thorough
def test_files_that_were_named() -> None:
    judged_alike("same(*map(str, sorted(Path(CASES).glob('*.yaml'))))", least=80)


def test_one_stream_and_what_lies_beside_it() -> None:
    code = "same('-', stdin=stream(), given=[str(p) for p in sorted(Path(CASES).glob('h0*.yaml'))])"
    judged_alike(code, least=80)


def test_one_large_set_in_pieces() -> None:
    code = """
objects._PIECE = 500
moved = re.sub(rb"(?m)^  name: ", b"  name: a-", stream())
apart = [re.sub(rb"(?m)^  namespace: .*", b"  namespace: n%d" % n, moved) for n in range(2)]
whole = b"\\n---\\n".join(apart)
same("-", stdin=whole)"""
    judged_alike(code, least=80)


def test_texts_that_are_broken_or_hold_what_does_not_go_plainly() -> None:
    code = """
objects._PIECE = 1
odd = [b"a: [", b"- op: add\\n", b"# none\\n", b"x: &a [1, *a]\\n", b"\\ta: 1\\n", b"kind: {{ .Values.x }}\\n"]
odd += [b"apiVersion: v1\\nkind: X\\nx: 0.10\\ny: 1e3\\n"]
odd += [b"apiVersion: v1\\nkind: Y\\nkind: Y\\nx: &a {b: [1, 2]}\\ny: *a\\n"]
folder = Path(tempfile.mkdtemp())
for n, text in enumerate(odd + [b"\\xff\\xfea", b"\\n---\\n".join(odd), b"\\r\\n---\\r\\n".join(odd)]):
    (folder / f"{n}.yaml").write_bytes(text)
same(*map(str, sorted(folder.iterdir())))"""
    judged_alike(code, least=5)


@pytest.mark.thorough
def test_comments_that_hide_and_comments_that_do_not() -> None:
    code = """
lines = stream().decode().splitlines()
comment = "# gangform: ignore[budget-allows-many-groups, service-name-collides, no-such] for a test"
whole = "\\n".join(line + f"  {comment}" * (n % 7 == 0 and line.endswith("spec:")) for n, line in enumerate(lines))
same("-", stdin=whole.encode())"""
    judged_alike(code, least=80)


@pytest.mark.thorough
def test_a_rule_that_fails() -> None:
    code = """
load()
for code in ("image-tag-moves", "service-name-collides"):
    def check(subject, documents, context, of=RULES[code].check):
        yield from of(subject, documents, context)
        raise TypeError(subject.key.name)
    RULES[code] = RULES[code]._replace(check=check)
same(CASES)"""
    judged_alike(code, least=80, failed=2)


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["len(calls) > 3", "True"])
@pytest.mark.parametrize("where", ["read_piece", "judge"])
def test_a_process_that_dies_takes_no_finding_with_it(where: str, when: str) -> None:
    owner = "report" if where == "read_piece" else "Judging"
    code = f"""
of, calls = {owner}.{where}, []
def dying(*words):
    calls.append(1)
    if os.getpid() != me and {when}:
        os.kill(os.getpid(), signal.SIGKILL)
    return of(*words)
{owner}.{where} = dying
same(CASES)"""
    judged_alike(code, least=80)


def test_what_is_read_and_found_arrives_as_it_was_sent() -> None:
    load()
    texts = find([str(ROOT / "tests" / "cases" / "lint")], lambda: b"").texts
    contents = []
    for text in texts:
        parts = pieces(text)
        readings = [read_piece(part) for part in parts]
        contents.append(content(text, parts, readings))
        for sent, there in zip(readings, pickle.loads(pickle.dumps(readings)), strict=True):
            assert there[1:] == sent[1:]
            for one, same in zip(sent.objects, there.objects, strict=True):
                assert (same.manifest, same.document) == (one.manifest, one.document)
                assert same.source.findings == one.source.findings
                for path, _ in leaves(one.manifest):
                    assert same.span(path) == one.span(path)
                    assert same.source.places.value(path) == one.source.places.value(path)
    judging = Judging(sets(contents), Beside(), Known(contents))
    judged = [judging.judge(part) for part in judging.parts]
    assert pickle.loads(pickle.dumps(judged)) == judged
    assert sum(len(each.findings) for each in judged) > 80


def test_a_fraction_arrives_with_its_spelling() -> None:
    text = b"apiVersion: v1\nkind: X\nversion: 0.10\nsize: 1_0.5e3\n"
    (part,) = pieces(find(["-"], lambda: text).texts[0])
    (there,) = pickle.loads(pickle.dumps(read_piece(part))).objects
    assert [there.manifest[key].written for key in ("version", "size")] == ["0.10", "1_0.5e3"]
