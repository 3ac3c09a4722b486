"""What the rules say of one set does not depend on how many processes say it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases" / "lint"

JUDGED = f"""
from pathlib import Path
from gangform import processes
from gangform.apis.views import Documents
from gangform.documents.document import Document
from gangform.documents.read import read_manifests
from gangform.rules import rule
paths = sorted(Path({str(CASES)!r}).glob("*.yaml"))
read = [each.manifest for path in paths for each in read_manifests(path.read_text(), path.name)]
documents = [Document(manifest=each, builder="") for each in read]
processes.processors = lambda: 3
context = rule.Context(complete=True)
def judged(**options):
    return rule.judge(Documents(documents), context, **options)
"""


def printed(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", JUDGED + code], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="no process is forked elsewhere")
def test_findings_are_the_same_and_as_many() -> None:
    code = """
rule._WORTH_SHARING = 0
alone, shared = judged(), judged(forks=True)
print(alone == shared, len(alone) > 80, [one.seen for one in alone] == [one.seen for one in shared])"""
    assert printed(code) == "True True True"


def test_few_documents_are_judged_without_other_processes() -> None:
    code = """
import sys
del documents[100:], sys.modules["gangform.processes"]
judged(forks=True)
print("gangform.processes" in sys.modules)"""
    assert printed(code) == "False"
