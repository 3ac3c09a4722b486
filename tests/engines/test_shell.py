"""Shell scripts: what surely runs, and nothing else."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangform.engines.conditions import ranked
from gangform.engines.shell import Start, start


def begun(script: str, *after: str, env: dict[str, str | None] | None = None) -> Start:
    variables: list[dict[str, Any]] = [
        {"name": name, **({"valueFrom": {}} if value is None else {"value": value})}
        for name, value in (env or {}).items()
    ]
    found = start({"command": ["bash", "-c"], "args": [script, *after], "env": variables})
    assert found is not None
    return found


def lines(script: str, **more: Any) -> list[str]:
    return [" ".join(one.words) for one in begun(script, **more).commands]


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("a b", ["a b"]),
        ("a 'b c' \"d e\" f\\ g", ["a b c d e f g"]),
        ("a \\\n  b # c\n# d\ne", ["a b", "e"]),
        ("set -e; cd /x && pip install y || exit 1; z", ["set -e", "cd /x", "pip install y", "z"]),
        ("A=1 exec b; c", ["b"]),
        ("exec > /log 2>&1\na", ["a"]),
        ("exec > >(tee log); a", ["a"]),
        ("a > /log 2>&1 < b", ["a"]),
        ("a | b &\nwait", ["a", "b", "wait"]),
        ("cat > f <<EOF\nrun this\nEOF\na", ["cat", "a"]),
        ("cat <<-'E'\n\tx\n\tE\na <<< b", ["cat", "a"]),
        ("env A=b nohup c", ["c"]),
        ("export A=b; c $A", ["export A=b", "c b"]),
        ("A=$(date); c $A", ["c $(A)"]),
        ("A='x y'; c $A \"$A\"", ["c x y x y"]),
        ("A=(x y); c", ["c"]),
        ("c $((1 + 2)) ${#A} `d`", ["c $((1 + 2)) ${#A} d"]),
        ("c ${LWS_WORKER_INDEX:-0} $LWS_GROUP_SIZE $(LWS_GROUP_SIZE)", None),
        ("a; (b; c); d", ["a", "d"]),
        ("f() { a; }\nb", ["b"]),
        ("function f {\n a\n}\nb", ["b"]),
        ("until [ $A ]; do sleep 5; done; a", ["a"]),
        ("while read x; do b; done\na", ["a"]),
        ("for i in 1 2; do b; done; a", ["a"]),
        ("case $A in x) b ;; *) c ;; esac; a", ["a"]),
        ("if [ -z $A ]; then exit 1; fi; a", ["a"]),
        ("if [ $A ]; then exec b; fi; a", []),
        ("if [ $A ]; then sleep inf; fi; a", []),
        ("[ $A ] && b; a", ["a"]),
        ("[ $A ] && exec b; a", []),
        ("a 'b", []),
        ("a $(b", []),
    ],
)
def test_what_surely_runs(script: str, commands: list[str] | None) -> None:
    found = [each for each in lines(script) if not each.startswith("[")]
    expected = commands or []
    if commands is None:
        index, size = "$(LWS_WORKER_INDEX)", "$(LWS_GROUP_SIZE)"
        expected = [f"c {index} {size} {size}"]
    assert [each for each in found if not each.startswith("export")] == [
        each for each in expected if not each.startswith("export")
    ]


def test_variables_of_the_container_are_filled_in() -> None:
    env = {"TP": "8", "ALL": "-a $(TP)", "RANK": None}
    assert lines("a --tp=$TP ${TP} $(TP) $ALL $RANK", env=env) == ["a --tp=8 8 8 -a 8 $(RANK)"]
    plain = start({"command": ["a", "$(TP)", "$TP"], "env": [{"name": "TP", "value": "8"}]})
    assert plain is not None and plain.commands[0].words == ("a", "8", "$TP")


def test_a_condition_makes_its_variables_unknown() -> None:
    script = "A=1; if [ $B ]; then A=2; fi; c --x=$A"
    assert lines(script)[-1] == "c --x=$(A)"
    assert lines("A=1; . ./env; c --x=$A")[-1] == "c --x=$(A)"


def test_what_the_script_sets_is_known_to_its_commands() -> None:
    (one,) = begun("export A=1; B=2; C=$(d) exec e").commands[-1:]
    assert one.variables == {"A": "1", "B": "2", "C": None}


def test_words_that_may_be_several_are_marked() -> None:
    one = begun('a serve $MODEL --port $PORT "$X" $EXTRA "$@"').commands[0]
    assert sorted(one.loose) == [2, 4, 6, 7]
    assert begun("a serve $MODEL --port $PORT").commands[0].certain(2)
    for script in ("a serve m $X", "a serve m --flag $EXTRA_ARGS", 'a serve "$@"', "a serve $(b)"):
        assert not begun(script).commands[0].certain(2)


def test_arguments_after_a_script() -> None:
    assert begun("a", "--b").dropped == ("args", 1)
    assert begun("a", "name", "--b").dropped == ("args", 1)
    for script, after in (('a "$@"', "--b"), ("a $1", "--b"), ("a", "name"), ("a", "--")):
        assert begun(script, after).dropped is None


@pytest.mark.parametrize(
    "container",
    [
        {},
        {"command": ["bash", "run.sh"]},
        {"command": ["bash"]},
        {"command": ["bash", "-c"]},
        {"command": ["bash", "--login", "-c", "a"]},
    ],
)
def test_no_script_no_command(container: dict[str, Any]) -> None:
    found = start(container)
    assert found is not None and found.commands == ()
    assert start({"command": ["a", 3]}) is None


@pytest.mark.parametrize(
    ("condition", "leads", "first"),
    [
        ('[ "$I" -eq 0 ]', True, "a"),
        ('[ "$I" -eq 0 ]', False, "b"),
        ("[[ ${I:-0} == 0 ]]", False, "b"),
        ("test $(I) -gt 0", False, "a"),
        ('[ "0" != "$I" ]', True, "b"),
        ("[ $I -eq 1 ]", False, None),
        ("[ $I -eq 0 ] && [ -f x ]", True, None),
        ("[ $J = 0 ]", True, None),
        ("[ $ROLE = head ]", True, "a"),
    ],
)
def test_a_condition_that_is_certain(condition: str, leads: bool, first: str | None) -> None:
    script = f"if {condition}; then a; elif [ $ROLE = x ]; then c; else b; fi; d"
    env = [{"name": "ROLE", "value": "head"}]
    container: dict[str, Any] = {"command": ["sh", "-c", script], "env": env}
    begun = start(ranked(container, "I", leads=leads))
    assert begun is not None
    surely = [one.program for one in begun.commands if one.program not in ("[", "[[", "test")]
    assert surely == ([] if first is None else [first]) + ["d"]


def test_a_script_asks_for_what_is_behind_it() -> None:
    env = [{"name": "M", "value": "m"}]
    command = ["sh", "-c", 'exec vllm serve "$@" --port=1', "--", "$(M)", "-tp", "2"]
    begun = start({"command": command, "env": env})
    assert begun is not None
    assert [one.words for one in begun.commands] == [("vllm", "serve", "m", "-tp", "2", "--port=1")]
    begun = start({"command": ["sh", "-c", '$0 "$@"', "vllm", "serve", "m"]})
    assert begun is not None
    assert [one.words for one in begun.commands] == [("vllm", "serve", "m")]


def test_long_and_deep_scripts_end() -> None:
    begins = time.process_time()
    for script in ("a " * 500_000, "$(" * 40_000, '"$(' * 30_000, "'" * 99_999, "(" * 90_000):
        begun(script)
    assert time.process_time() - begins < 5


@given(st.text(alphabet="ab if;then fi $(){}'\"\\&|<>`\n=#x-", max_size=60))
def test_no_script_raises(script: str) -> None:
    begun(script)
