"""Several processes, and what happens when one of them dies."""

import os
import signal
import subprocess
import sys
import threading
import time

import nodes
import numpy as np
import pyarrow as pa
import pytest

import forebay

READ_ALL = """
import sys, forebay
ds = forebay.open(sys.argv[1])
total = sum(int(b["x"].sum()) for b in ds.batches(100, shuffle="global", columns=["x", "y"]))
print(total, ds.num_rows)
"""
SUM = f"{sum(range(5000))} 5000\n"


def source_bytes(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize("shuffle", ["sequential", "global"])
def test_killing_the_node_changes_no_rows(large, shuffle):
    ds = forebay.open(large)
    how = {"batch_size": 5000, "shuffle": shuffle, "columns": ["x", "c3"]}
    got, killed = [], 0
    for i, batch in enumerate(ds.batches(**how)):
        got.append(batch["x"].copy())
        if i in (0, 3, 50, 100):
            nodes.kill_node(ds._table.node_pid())
            killed += 1
    assert killed == 4
    rows = np.concatenate(got)
    assert np.array_equal(np.sort(rows), np.arange(800_000))
    again = np.concatenate([batch["x"] for batch in ds.batches(**how)])
    assert np.array_equal(rows, again)


def test_killing_the_node_during_a_cold_fill_changes_no_rows(large):
    ds = forebay.open(large)
    stop = threading.Event()
    killed = []

    def kill_often():
        while not stop.wait(0.05) and len(killed) < 6:
            for pid in nodes.node_pids(os.environ["XDG_RUNTIME_DIR"]):
                nodes.kill_node(pid)
                killed.append(pid)

    killer = threading.Thread(target=kill_often)
    killer.start()
    try:
        rows = np.concatenate([b["x"] for b in ds.batches(5000, shuffle="global", seed=1)])
    finally:
        stop.set()
        killer.join()
    assert killed and np.array_equal(np.sort(rows), np.arange(800_000))


def test_the_second_run_reads_nothing_from_the_source(numbers, run_python, node_status):
    assert run_python(READ_ALL, numbers) == SUM
    first = node_status()
    assert 0 < first["source_bytes"] <= 2 * source_bytes(numbers)
    assert run_python(READ_ALL, numbers) == SUM
    assert node_status()["source_bytes"] == first["source_bytes"]
    nodes.kill_node(first["pid"])  # a later day: the store is all that is left
    assert run_python(READ_ALL, numbers) == SUM
    assert node_status()["pid"] != first["pid"] and node_status()["source_bytes"] == 0


def test_eight_processes_at_once_read_the_source_once(large, node_status):
    program = """
import sys, forebay
ds = forebay.open(sys.argv[1])
print(sum(int(b["x"].sum()) for b in ds.batches(1000, shuffle="global", columns=["x", "c1"])))
"""
    children = [subprocess.Popen([sys.executable, "-c", program, str(large)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(8)]
    for child in children:
        out, err = child.communicate(timeout=200)
        assert (out, err) == (f"{sum(range(800_000))}\n", "")
    status = node_status()
    alone = forebay.open(large, store=os.environ["FOREBAY_STORE"] + "-alone")
    alone.warmup(columns=["x", "c1"])
    assert status["failed_fills"] == 0 and status["fills"] > 0
    # Two of sixteen columns, once: not eight times.
    assert status["source_bytes"] <= source_bytes(large) * 2 / 16 * 1.5


def in_child(function):
    """Forks, runs the function in the child, and waits for it with a limit."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    end = time.monotonic() + 60
    while True:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(code)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "hangs"
        time.sleep(0.01)


def test_a_forked_child_reads_on_its_own(numbers):
    ds = forebay.open(numbers)
    batches = iter(ds.batches(100, shuffle="global"))
    before = [next(batches)["x"].tolist() for _ in range(10)]

    def child():
        rest = [b["x"].tolist() for b in batches]
        assert len(rest) == 40 and len(set(sum(before + rest, []))) == 5000
        assert ds.take([17])["x"].tolist() == [17]
        assert pa.table(ds).num_rows == 5000

    assert [in_child(child) for _ in range(3)] == [0, 0, 0]
    assert len(list(batches)) == 40  # the parent's place did not move


def test_a_fork_while_another_thread_reads_does_not_hang(large):
    ds = forebay.open(large)
    stop = threading.Event()

    def read():
        while not stop.is_set():
            for _ in ds.batches(10_000, shuffle="global", columns=["x"]):
                if stop.is_set():
                    break

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        def child():
            assert ds.take([3, 700_000])["x"].tolist() == [3, 700_000]
        codes = [in_child(child) for _ in range(20)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 20


def test_threads_share_a_dataset_but_not_an_iterator(numbers):
    ds = forebay.open(numbers)
    sums, errors = [], []
    shared = ds._table.stream(ds.batches(1)._options)

    def read():
        sums.append(sum(int(b["x"].sum()) for b in ds.batches(10, shuffle="global")))
        try:
            while shared.next() is not None:
                pass
        except ValueError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [sum(range(5000))] * 4
    assert all("another thread is reading these batches" in text for text in errors)


def test_reading_has_no_threads_of_its_own(numbers, run_python):
    count = "len(__import__('os').listdir('/proc/self/task'))"
    out = run_python(f"""
import numpy, sys, forebay
before = {count}
ds = forebay.open(sys.argv[1])
for batch in ds.batches(100, shuffle="global"): pass
ds.take([1]); ds.warmup()
print({count} - before)
""", numbers)
    assert out == "0\n"


def test_the_module_brings_no_arrow_into_the_process(numbers, run_python):
    out = run_python("""
import sys, forebay
next(iter(forebay.open(sys.argv[1]).batches(10)))
maps = open("/proc/self/maps").read()
print([name for name in ("arrow", "parquet", "grpc", "curl", "libfmt") if name in maps],
      "pyarrow" in sys.modules)
""", numbers)
    assert out == "[] False\n"


def test_keyboard_interrupt_ends_a_long_wait(tmp_path):
    """A node that never answers: nothing but Ctrl-C ends the wait before the timeout."""
    import socket
    path = f"{os.environ['XDG_RUNTIME_DIR']}/deaf.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as deaf:
        deaf.bind(path)
        deaf.listen()
        program = "import forebay, sys; print('go', flush=True); " \
                  "forebay.open('/tmp', node=sys.argv[1], timeout=100)"
        child = subprocess.Popen([sys.executable, "-c", program, path],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "go\n"
        deaf.accept()
        started = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
        assert "KeyboardInterrupt" in err and time.monotonic() - started < 10


def test_a_node_that_never_answers_is_a_timeout(numbers):
    import socket
    path = f"{os.environ['XDG_RUNTIME_DIR']}/deaf.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as deaf:
        deaf.bind(path)
        deaf.listen()
        started = time.monotonic()
        with pytest.raises(TimeoutError, match="did not answer in time"):
            forebay.open(numbers, node=path, timeout=0.3)
        assert time.monotonic() - started < 5


@pytest.mark.slow
def test_eight_readers_share_the_memory_of_the_table(large):
    program = """
import sys, forebay
ds = forebay.open(sys.argv[1])
for batch in ds.batches(4096, shuffle="global"): pass
kept = ds.batches(4096, shuffle="global"); it = iter(kept); next(it)
print("ready", flush=True); sys.stdin.read()
"""
    forebay.open(large).warmup()
    children = [subprocess.Popen([sys.executable, "-c", program, str(large)], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for _ in range(8)]
    try:
        for child in children:
            assert child.stdout.readline() == "ready\n"
        total = 0
        for child in children:
            with open(f"/proc/{child.pid}/smaps_rollup") as rollup:
                total += next(int(line.split()[1]) for line in rollup
                              if line.startswith("Pss:")) * 1024
    finally:
        for child in children:
            child.stdin.close()
            child.wait(30)
    table_bytes = 800_000 * 16 * 8
    assert total <= 1.1 * table_bytes + 8 * 40 * 2**20
