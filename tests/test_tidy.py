"""Each rule of tools/tidy fires on a small tree made for it, and only then."""
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TIDY = ROOT / "tools" / "tidy"
FORMATTER = shutil.which("clang-format-16")


@pytest.fixture
def tree(tmp_path):
    """A tree without findings: base, model on base, and cache, which may speak Arrow."""
    write(tmp_path, "src/LAYERS", "# a comment\nbase:\nmodel: base\ncache: base model\n")
    for folder in ("base", "model", "cache"):
        write(tmp_path, f"src/{folder}/README.md", f"# {folder}\n")
        write(tmp_path, f"src/{folder}/x.h", "#pragma once\n")
    shutil.copy(ROOT / ".clang-format", tmp_path)
    return tmp_path


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def findings(tree, *options):
    command = [sys.executable, TIDY, "--root", tree, *options]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == (1 if result.stdout else 0), result.stderr
    return result.stdout.splitlines()


def function(lines):
    """A C++ function of so many lines, the braces' included."""
    body = "".join(f"  x = {i};\n" for i in range(lines - 2))
    return "int x;\n\nint F() const {\n" + body + "}\n"


def test_a_tidy_tree_has_no_findings(tree):
    assert findings(tree) == []
    assert findings(tree, "--layers-only") == []


@pytest.mark.parametrize("include", ['#include "cache/x.h"', "#  include <cache/x.h>"])
def test_an_include_against_the_layers(tree, include):
    write(tree, "src/model/y.cc", f'#include "base/x.h"\n{include}\n')
    expected = ['src/model/y.cc:2: src/model may not include "cache/x.h" (src/LAYERS)']
    assert findings(tree, "--layers-only") == expected


def test_a_layer_violation_in_a_test_file(tree):
    write(tree, "src/model/y_test.cc", '#include "cache/x.h"\n')
    assert len(findings(tree, "--layers-only")) == 1


def test_an_include_without_its_folder(tree):
    write(tree, "src/model/y.cc", '#include "x.h"\n')
    expected = ['src/model/y.cc:1: write "folder/file.h", not "x.h"']
    assert findings(tree, "--layers-only") == expected


def test_a_folder_without_a_layer(tree):
    write(tree, "src/extra/README.md", "# extra\n")
    assert findings(tree, "--layers-only") == ["src/extra:1: is not in src/LAYERS"]


def test_a_cycle_of_layers(tree):
    write(tree, "src/LAYERS", "base: model\nmodel: base\ncache: base\n")
    expected = ["src/LAYERS:1: 'model' must stand above 'base'"]
    assert findings(tree, "--layers-only") == expected


@pytest.mark.parametrize("include", [
    "#include <arrow/api.h>", "#include <parquet/file_reader.h>",
    '#include "base/arrow_status.h"'])
def test_arrow_where_it_must_not_be(tree, include):
    write(tree, "src/model/y.h", f"{include}\n")
    expected = ["src/model/y.h:1: src/model builds without Arrow"]
    assert findings(tree, "--layers-only") == expected


def test_arrow_where_it_may_be(tree):
    write(tree, "src/base/arrow_status.h", "#include <arrow/status.h>\n")
    write(tree, "src/cache/y.cc", '#include <arrow/api.h>\n\n#include "base/arrow_status.h"\n')
    write(tree, "src/model/y_test.cc", "#include <arrow/api.h>\n")
    assert findings(tree, "--layers-only") == []


def test_a_long_file(tree):
    write(tree, "src/base/y.cc", "int x;\n" * 600)
    assert findings(tree) == []
    write(tree, "src/base/y.cc", "int x;\n" * 601)
    assert findings(tree) == ["src/base/y.cc:601: 601 lines, at most 600: split it"]


def test_a_long_function(tree):
    write(tree, "src/base/y.cc", function(70))
    assert findings(tree) == []
    write(tree, "src/base/y.cc", function(71))
    assert findings(tree) == ["src/base/y.cc:3: a function of 71 lines, at most 70"]


@pytest.mark.parametrize("head", [
    "template <class T>\nvoid F() {", "Thing::Thing() : a_{1}, b_(2) {", "TEST(A, B) {",
    "Thing::Thing() : a_{1} {", "auto f = [](int x) {", "struct Out F(int x) {"])
def test_a_long_function_however_it_starts(tree, head):
    body = '  Call("{", \'{\', R"x({)x");  // {\n' * 75
    write(tree, "src/base/y.cc", f"namespace a {{\n\nclass B;\n\n{head}\n{body}}};\n\n}}\n")
    assert "a function of 77 lines, at most 70" in "\n".join(findings(tree))


def test_long_classes_tables_and_macros_are_no_functions(tree):
    members = "".join(f"  int a{i};\n  int F{i}() {{ return {i}; }}\n" for i in range(40))
    table = "const int kTable[] = {\n" + "    1,\n" * 80 + "};\n"
    macro = "#define M(x) \\\n" + "  { \\\n" * 3 + "  x\n"
    text = f"namespace a {{\n\n{macro}\nclass B {{\n{members}}};\n\n{table}\n}}  // namespace a\n"
    write(tree, "src/base/y.cc", text)
    assert not [f for f in findings(tree) if "function" in f]


def test_a_long_python_function(tree):
    write(tree, "python/y.py", "def f():\n" + "    x = 1\n" * 70)
    assert findings(tree) == ["python/y.py:1: a function of 71 lines, at most 70"]


@pytest.mark.parametrize("suffix", ["Manager", "Handler", "Processor", "Impl"])
def test_a_type_without_a_noun(tree, suffix):
    write(tree, "src/base/y.h", f"#pragma once\n\nclass Chunk{suffix};\n")
    write(tree, "python/y.py", f"class Chunk{suffix}:\n    pass\n")
    expected = [f"python/y.py:1: find a noun for 'Chunk{suffix}'",
                f"src/base/y.h:3: find a noun for 'Chunk{suffix}'"]
    assert sorted(findings(tree)) == expected


def test_names_in_comments_are_free(tree):
    write(tree, "src/base/y.h", "// Not a class Manager.\n#pragma once\n")
    assert findings(tree) == []


@pytest.mark.parametrize("name", ["utils", "helpers", "common", "misc", "core"])
def test_a_folder_that_says_nothing(tree, name):
    write(tree, f"src/base/{name}/y.h", "#pragma once\n")
    expected = [f"src/base/{name}/y.h:1: a folder named '{name}' says nothing"]
    assert findings(tree) == expected


def test_a_folder_without_readme(tree):
    (tree / "src/model/README.md").unlink()
    assert findings(tree) == ["src/model:1: has no README.md"]


def test_a_long_readme(tree):
    write(tree, "src/model/README.md", "x\n" * 41)
    assert findings(tree) == ["src/model/README.md:41: 41 lines, at most 40"]


def test_too_many_files_in_a_folder(tree):
    for i in range(25):
        for name in (f"f{i}.h", f"f{i}.cc", f"f{i}_test.cc"):
            write(tree, f"src/base/{name}", "int x;\n")
    assert findings(tree) == ["src/base:1: 26 file pairs, at most 25"]


def test_an_empty_folder(tree):
    (tree / "src/base/later").mkdir()
    assert findings(tree) == ["src/base/later:1: is an empty folder"]


@pytest.mark.parametrize("line, what", [
    ("see /work/notes.md", "a private path"),
    ("/home/ann/x", "a private path"),
    ("cd /root/x", "a private path"),
    ("--index-url x", "a package mirror"),
    ("GOPROXY=https://x", "a package mirror"),
    ("https://artifactory.corp/x", "a package mirror")])
def test_where_somebody_works(tree, line, what):
    write(tree, "docs/y.md", f"fine\n{line}\n")
    assert findings(tree) == [f"docs/y.md:2: names {what}"]


@pytest.mark.parametrize("line", ["$HOME/.cache", "/var/cache/forebay", "a/work/b", "~/x"])
def test_paths_of_nobody(tree, line):
    write(tree, "docs/y.md", f"{line}\n")
    assert findings(tree) == []


@pytest.mark.skipif(not FORMATTER, reason="clang-format-16 is not installed")
def test_a_file_that_is_not_formatted(tree):
    write(tree, "src/base/y.cc", "int x;\nint   y;\n")
    assert findings(tree) == ["src/base/y.cc:2: is not formatted: run make fmt"]


def test_ignored_files_are_not_looked_at(tree):
    subprocess.run(["git", "init", "-q", tree], check=True)
    write(tree, ".gitignore", "/build/\n")
    write(tree, "build/utils/y.cc", "class XManager;\n")
    assert findings(tree) == []
    write(tree, "extra/y.h", "class XManager;\n")
    assert findings(tree) == ["extra/y.h:1: find a noun for 'XManager'"]
