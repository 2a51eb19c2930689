"""The scripts behind make, run in a tree of their own with stand-ins for what they call."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1] / "tools"


class Tree:
    def __init__(self, folder):
        self.folder = folder
        (folder / "tools").mkdir()
        for name in ("build", "run-tests"):
            shutil.copy(TOOLS / name, folder / "tools")
        self.program("tools/tidy", "")

    def program(self, name, script):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run(self, *command, **environment):
        path = f"{self.folder}/path:{os.environ['PATH']}"
        return subprocess.run(command, cwd=self.folder, text=True, capture_output=True,
                              timeout=60, env={**os.environ, "PATH": path, **environment})


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def building(tree, script):
    (tree.folder / "build/x").mkdir(parents=True)
    (tree.folder / "build/x/build.ninja").touch()
    tree.program("path/ninja", script)


STEPS = """echo "ninja: Entering directory"
for i in 1 2 3 4; do echo "[$i/4] Building CXX object CMakeFiles/a.dir/src/a/b$i.cc.o"; done"""


def test_a_build_without_a_terminal_says_how_far_it_is(tree):
    building(tree, STEPS)
    done = tree.run("tools/build", "x", "all", FOREBAY_PROGRESS_SECONDS="0")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("build: 25 % after ") and lines[0].endswith(", 1 of 4: src/a/b1.cc")


def test_a_build_says_it_once_a_minute(tree):
    building(tree, STEPS)
    assert tree.run("tools/build", "x", "all").stdout == ""


def test_a_build_that_fails_shows_why_and_fails(tree):
    building(tree, STEPS + '\necho "FAILED: b.cc.o"\necho "b.cc:1: no such type"\nexit 1')
    done = tree.run("tools/build", "x", "all")
    assert done.returncode != 0
    assert done.stdout.splitlines() == ["FAILED: b.cc.o", "b.cc:1: no such type"]


def with_stand_ins(tree, cpp=0, python=0):
    tree.program("path/ctest", f"""mkdir -p build/release/Testing/Temporary
echo '[==========] 7 tests from 2 test suites ran.
[  PASSED  ] 7 tests.' > build/release/Testing/Temporary/LastTest.log
exit {cpp}""")
    tree.program(".venv/bin/python", f"""if [[ "$*" = *tidy* ]]; then
  echo 'tidy: 0 findings in 9 files' >&2; exit 0; fi
echo "$*" >> calls
if [[ "$*" = *" and alone"* ]]; then echo 'no tests ran in 0.1s'; exit 5; fi
echo '3 passed in 0.10s'; exit {python}""")


def test_a_run_of_all_tests_ends_with_the_counts_of_each_part(tree):
    with_stand_ins(tree)
    done = tree.run("tools/run-tests", "not slow")
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert parts == [["C++", "passed"], ["tests", "passed"], ["python/tests", "passed"],
                     ["tidy", "passed"]]
    assert "7 of 7 passed, 0 skipped" in done.stdout and "3 passed, " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("test: everything passed in ")


@pytest.mark.parametrize("broken", ["cpp", "python"])
def test_all_parts_run_where_one_fails_and_the_run_fails(tree, broken):
    with_stand_ins(tree, **{broken: 1})
    done = tree.run("tools/run-tests", "not slow")
    assert done.returncode == 1
    assert "FAILED" in done.stdout and "tidy          passed" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("test: FAILED after ")
    asked = (tree.folder / "calls").read_text()
    assert asked.count("not slow and not alone") == 2 and asked.count("not slow and alone") == 2


def test_no_python_tests_at_all_is_a_failure(tree):
    with_stand_ins(tree, python=5)
    assert tree.run("tools/run-tests", "not slow").returncode == 1
    assert tree.run("tools/run-tests", "slow").returncode == 0  # a folder may have none
