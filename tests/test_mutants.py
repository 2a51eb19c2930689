"""The list of mutants fits the sources, and tools/mutants does with it what it says."""

import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def load():
    loader = importlib.machinery.SourceFileLoader("mutants", str(ROOT / "tools/mutants"))
    spec = importlib.util.spec_from_loader("mutants", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


mutants = load()


def one(text):
    mutant, = mutants.parse("f", text)
    return mutant


def test_every_mutant_fits_the_sources():
    listed = mutants.read_list(ROOT / "tests/mutants")
    assert mutants.check(ROOT, listed) == []


SOURCE = "int f() {\n  if (a < b) {\n    g();\n  }\n  return 0;\n}\n"


def test_lines_are_found_however_indented_and_keep_their_indentation():
    mutant = one("== m\nx.cc\n-if (a < b) {\n-g();\n+if (a <= b) {\n+  g();\n")
    assert mutants.mutate(mutant, SOURCE) == SOURCE.replace("a < b", "a <= b")


@pytest.mark.parametrize("old, count", [("h();", 0), ("x();", 2)])
def test_old_lines_must_be_there_exactly_once(old, count):
    mutant = one(f"== m\nx.cc\n-{old}\n+y();\n")
    with pytest.raises(mutants.Broken, match=f"are {count} times in x.cc"):
        mutants.mutate(mutant, SOURCE + "x();\nx();\n")


@pytest.mark.parametrize("text", [
    "== m\n-a\n+b\n", "== m\nx.cc\n+b\n", "== m\nx.cc\n-a\n+a\n", "== M!\nx.cc\n-a\n+b\n",
    "== m\nx.cc\n-a\nb\n", "x.cc\n"])
def test_what_is_no_mutant_is_refused(text):
    with pytest.raises(mutants.Broken):
        mutants.parse("f", text)


def test_two_of_one_name_are_refused(tmp_path):
    (tmp_path / "f.txt").write_text("== m\nx\n-a\n+b\n\n== m\nx\n-a\n+c\n")
    with pytest.raises(mutants.Broken, match="f/m: there are two"):
        mutants.read_list(tmp_path)


def test_python_tests_are_those_of_the_file_or_of_the_mutant():
    first, second = mutants.parse("f", "then: a b\n\n== m\nx\n-a\n+b\n\n== n\nx\nthen: c\n-a\n+b\n")
    assert (first.tests, second.tests) == (["a", "b"], ["c"])


def test_a_folder_is_tested_first_and_then_its_users():
    below = {"base": [], "wire": ["base"], "table": ["base"], "cache": ["base", "table"],
             "cli": ["base", "wire"]}
    programs = [{"name": name, "command": [f"/b/{name}_test"]}
                for name in ("base", "cache", "cli", "table", "table_iceberg", "wire")]

    def names(path):
        mutant = mutants.Mutant("f", "m", path, ["a"], ["b"], [])
        return [program["name"] for program in mutants.targets_of(mutant, programs, below)]

    assert names("src/table/iceberg/x.cc") == ["table_iceberg", "table", "cache"]
    assert names("src/wire/x.cc") == ["wire", "cli"]
    assert names("src/base/x.cc") == ["base", "wire", "table", "table_iceberg", "cache", "cli"]
    assert names("python/forebay/x.py") == []


def test_the_test_that_failed_crashed_or_hung_is_named():
    ran = "[ RUN      ] A.One\n[       OK ] A.One\n[ RUN      ] A.Two\n"
    assert mutants.failed_test(ran + "[  FAILED  ] A.Two (3 ms)\n") == "A.Two"
    assert mutants.failed_test(ran) == "A.Two"
    assert mutants.failed_test("cannot start") == "the program"


class FakeTree:
    """A copy whose one test notices `bug`, and fails always where it is `flaky`."""

    def __init__(self, place, flaky=False):
        self.place, self.flaky, self.built = place, flaky, []
        (place / "src/a").mkdir(parents=True)
        (place / "src/a/x.cc").write_text("good();\n")

    def write(self, name, text):
        (self.place / name).write_text(text)

    def build(self, *targets):
        self.built.append(targets)

    def programs(self):
        return [{"name": "a", "command": ["/b/a_test"]}]

    def run(self, program, only=None, unchanged=False):
        bad = not unchanged and "bug" in (self.place / "src/a/x.cc").read_text()
        return "A.Test" if bad or self.flaky else None


@pytest.mark.parametrize("new, flaky, kind", [
    ("bug();", False, "c++"), ("other();", False, "nobody"), ("bug();", True, "nobody")])
def test_a_mutant_is_noticed_by_a_test_that_passes_without_it(tmp_path, new, flaky, kind):
    tree = FakeTree(tmp_path, flaky)
    mutant = mutants.Mutant("a", "m", "src/a/x.cc", ["good();"], [new], [])
    result = mutants.try_mutant(tree, mutant, {"a": []}, cpp_only=True)
    assert result.kind == kind
    assert (tmp_path / "src/a/x.cc").read_text() == "good();\n"


def test_the_copy_has_what_the_checkout_has_and_keeps_times(tmp_path):
    root, place = tmp_path / "root", tmp_path / "copy"
    (root / "src/a").mkdir(parents=True)
    (root / "src/a/x.cc").write_text("one\n")
    (root / "src/a/y.cc").write_text("two\n")
    (root / ".venv").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    mutants.Tree(root, place)
    before = (place / "src/a/x.cc").stat().st_mtime_ns
    (place / "src/a/y.cc").write_text("a mutant that an interruption left\n")
    (root / "src/a/y.cc").write_text("three\n")
    (place / "src/a/gone.cc").write_text("deleted since\n")
    mutants.Tree(root, place)
    assert (place / "src/a/x.cc").stat().st_mtime_ns == before
    assert (place / "src/a/y.cc").read_text() == "three\n"
    assert not (place / "src/a/gone.cc").exists()
