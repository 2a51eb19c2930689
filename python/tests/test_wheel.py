"""The wheel in an environment of its own: nothing of this tree, and any pyarrow or none."""

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import nodes
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
# The C library is the machine's; everything else must come with the wheel.
FROM_THE_MACHINE = ("libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so",
                    "libresolv.so", "ld-linux", "libnss_", "gconv")

# Makes the wheel in the build's own folder, so only one process may.
pytestmark = pytest.mark.alone

READ = """
import json, sys, forebay
ds = forebay.open(sys.argv[1])
total = sum(int(b["x"].sum()) for b in ds.batches(100, shuffle="global"))
print(json.dumps([total, forebay.__file__, ds._table.node_pid(), "pyarrow" in sys.modules]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Made from what is built already: from the folder that forebay/bin points to."""
    built = (nodes.PROGRAMS / "forebay-node").resolve().parent
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps",
                    "--no-build-isolation", "--disable-pip-version-check", "-C",
                    f"build-dir={built.relative_to(ROOT)}", "-w", out, ROOT], check=True)
    made, = out.iterdir()
    return made


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python that has numpy and the wheel, and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    here = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        (site / name).symlink_to(here / name)
    subprocess.run([sys.executable, "-m", "pip", "--python", folder / "bin/python", "install",
                    "-q", "--no-deps", "--no-index", "--disable-pip-version-check", wheel],
                   check=True)
    return folder / "bin/python"


def run(python, *arguments):
    done = subprocess.run([python, "-I", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


def libraries(pid):
    """The shared libraries a process has mapped."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in maps if ".so" in line}


def test_it_reads_a_table_without_anything_of_this_machine(python, numbers):
    total, module, pid, has_pyarrow = json.loads(run(python, "-c", READ, numbers))
    assert total == sum(range(5000)) and not has_pyarrow
    clean = str(python.parents[1])
    assert module.startswith(clean)
    foreign = [path for path in libraries(pid) if not path.startswith(clean)
               and not Path(path).name.startswith(FROM_THE_MACHINE)]
    assert foreign == []
    assert any("libarrow.so" in path for path in libraries(pid))


def test_it_brings_the_command(python, numbers):
    forebay = python.with_name("forebay")
    out = subprocess.run([forebay, "inspect", numbers], capture_output=True, text=True,
                         timeout=120)
    assert out.returncode == 0 and "5000" in out.stdout.replace(",", ""), out.stderr


def dynamic_section(path):
    return subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def test_it_carries_types_and_no_paths_of_this_machine(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert "forebay/py.typed" in names and "forebay/_native.pyi" in names
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]
    for program in ("forebay", "forebay-node"):
        section = dynamic_section(tmp_path / "forebay/bin" / program)
        paths = [line for line in section if "PATH)" in line]
        assert len(paths) == 1 and "[$ORIGIN/../lib]" in paths[0]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["21.0.0"])
def test_it_works_beside_another_pyarrow(python, numbers, version, tmp_path):
    """Needs PyPI."""
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target",
                    tmp_path, "--disable-pip-version-check", f"pyarrow=={version}"], check=True)
    program = """
import sys
sys.path.insert(0, sys.argv[2])
import pyarrow, forebay
ds = forebay.open(sys.argv[1])
print(pyarrow.__version__, pyarrow.table(ds).num_rows)
"""
    assert run(python, "-c", program, numbers, tmp_path) == f"{version} 5000\n"


def test_the_module_needs_only_the_c_and_cpp_libraries():
    from forebay import _native
    needed = [line.split("[")[1].rstrip("]") for line in dynamic_section(_native.__file__)
              if "(NEEDED)" in line]
    assert set(needed) <= {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
                           "ld-linux-x86-64.so.2"}
