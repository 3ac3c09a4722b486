"""Work shared out over processes comes back whole and in order, whatever becomes of the others.

Each test runs in a process of its own: the one that runs the tests has threads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc, and forks")

HERE = """
import os, signal, sys, time
from gangform.processes import processors, share
me = os.getpid()
def other():
    return os.getpid() != me
"""


def ran(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    """What a program prints that begins as `HERE` does. None of them may hang."""
    command = [sys.executable, "-c", HERE + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def printed(code: str) -> str:
    done = ran(code)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 1000])
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_every_result_comes_once_and_in_order(count: int, processes: int) -> None:
    code = f"print(share(lambda n: n * n, range({count}), {processes}) == [n * n for n in range({count})])"
    assert printed(code) == "True"


def test_others_do_take_part() -> None:
    code = """
def work(n):
    time.sleep(0.01)
    return os.getpid()
print(len(set(share(work, range(100), 3))))"""
    assert printed(code) == "3"


def test_this_process_begins_with_something_else_while_others_work() -> None:
    code = """
said = []
who = share(lambda n: other(), range(50), 2, first=lambda: (time.sleep(1), said.append(1)))
print(all(who), said)"""
    assert printed(code) == "True [1]"


@pytest.mark.parametrize(
    "end",
    [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os._exit(0)",
        "os._exit(1)",
        "sys.exit()",
        "raise MemoryError",
        "raise KeyboardInterrupt",
        "return lambda: n",  # cannot be sent
    ],
)
def test_what_others_do_not_deliver_is_done_here(end: str) -> None:
    code = f"""
def work(n):
    if other():
        {end}
    time.sleep(0.01)
    return n
print(share(work, range(40), 3) == list(range(40)))"""
    assert printed(code) == "True"


def test_half_an_answer_is_none() -> None:
    code = """
import pickle
whole = pickle.dumps
pickle.dumps = lambda value, *rest: whole(value, *rest)[: None if isinstance(value, list) else -1]
def work(n):
    time.sleep(0.01)
    return n
print(share(work, range(40), 2) == list(range(40)))"""
    assert printed(code) == "True"


def test_an_error_is_the_one_of_a_single_process() -> None:
    code = """
def work(n):
    time.sleep(0.005)
    if n >= 10:
        raise ValueError(n)
    return n
for processes in (1, 2, 4):
    try:
        share(work, range(300), processes)
    except ValueError as error:
        print(error, error.__traceback__.tb_next is not None)"""
    assert printed(code).splitlines() == ["10 True"] * 3


def test_nothing_is_printed_twice() -> None:
    code = """
sys.stdout.write("before ")
share(lambda n: n, range(40), 4)
sys.stdout.write("after")"""
    assert printed(code) == "before after"


def test_no_process_is_left_and_no_pipe() -> None:
    code = """
before = os.listdir("/proc/self/fd")
share(lambda n: n, range(40), 4)
try:
    share(lambda n: 1 / n, range(40), 4)
except ZeroDivisionError:
    pass
try:
    os.wait()
except ChildProcessError:
    print(before == os.listdir("/proc/self/fd"))"""
    assert printed(code) == "True"


def test_a_machine_without_room_for_another_does_it_alone() -> None:
    code = """
def full():
    raise BlockingIOError(11, "Resource temporarily unavailable")
os.fork = full
print(share(lambda n: other(), range(40), 4).count(False))"""
    assert printed(code) == "40"


def test_who_does_not_keep_the_dead_is_no_hindrance() -> None:
    code = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nprint(len(share(abs, range(40), 2)))"
    assert printed(code) == "40"


@pytest.mark.parametrize("to_all", [True, False])
def test_an_interrupt_ends_all_of_them(tmp_path: Path, to_all: bool) -> None:
    code = f"""
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests may ignore it
def work(n):
    open(r"{tmp_path}/" + str(os.getpid()), "w").close()
    time.sleep(0.05)
try:
    share(work, range(10000), 3)
except KeyboardInterrupt:
    print("interrupted")"""
    process = subprocess.Popen(
        [sys.executable, "-c", HERE + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(list(tmp_path.iterdir())) == 3)
    if to_all:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("interrupted\n", "")
    for each in tmp_path.iterdir():
        wait_for(lambda each=each: not alive(int(each.name)))


def test_where_interrupts_are_ignored_none_of_them_ends(tmp_path: Path) -> None:
    code = f"""
signal.signal(signal.SIGINT, signal.SIG_IGN)
def work(n):
    open(r"{tmp_path}/" + str(os.getpid()), "w").close()
    time.sleep(0.05)
    return os.getpid()
found = share(work, range(120), 3)
print(len(found), len(set(found[-30:])) > 1)"""
    process = subprocess.Popen(
        [sys.executable, "-c", HERE + code],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(list(tmp_path.iterdir())) == 3)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "120 True\n"


def test_others_end_after_this_one_was_killed(tmp_path: Path) -> None:
    code = f"""
def work(n):
    open(r"{tmp_path}/" + str(os.getpid()), "w").close()
    time.sleep(0.05)
share(work, range(10000), 3)"""
    process = subprocess.Popen([sys.executable, "-c", HERE + code])
    wait_for(lambda: len(list(tmp_path.iterdir())) == 3)
    process.kill()
    process.wait(30)
    for each in tmp_path.iterdir():
        wait_for(lambda each=each: not alive(int(each.name)))


def test_a_process_with_threads_is_not_forked() -> None:
    code = """
import threading
print(processors() >= 1, end=" ")
done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
print(processors())
done.set()"""
    assert printed(code) == "True 1"


def wait_for(condition: object) -> None:
    end = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(process: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
