"""The programs people use on a mount: git, grep, tar, Python, find, rsync, cp."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest
from mounts import OLD, Mounts, random_tree, why_not, write_files
from s3_server import S3Server


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                          **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A source with a git repository, a Python package, and other files."""
    tmp_path = tmp_path_factory.mktemp("project")
    source = write_files(tmp_path / "source", {
        "package/__init__.py": b"from .inner import answer\n",
        "package/inner.py": b"def answer():\n    return 42\n",
        "text/one.txt": b"nothing here\nneedle in line two\n", "text/two.txt": b"needle\n" * 3,
        **{f"data/{name}": data for name, data in random_tree(4, count=60).items()}})
    work, env = tmp_path / "work", {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    run("git", "init", "-q", work)
    for i in range(3):
        write_files(work, {f"file{i}": b"line\n" * (i + 1)})
        run("git", "-C", work, "add", ".")
        run("git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm",
            f"commit {i}")
    run("git", "init", "-q", "--bare", source / "repository.git", env=env)
    run("git", "-C", work, "push", "-q", source / "repository.git", "HEAD")
    run("find", source, "-type", "d", "-empty", "-delete")  # a tree has folders for its files
    for top, _, files in os.walk(source):
        for name in files:
            os.utime(os.path.join(top, name), (OLD, OLD), follow_symlinks=False)
    return source


@pytest.fixture(scope="module", params=["local-small", "local-large", "s3-small", "s3-large"])
def place(original, request, tmp_path_factory):
    """(source, where it is mounted); from S3, the source has the objects' times."""
    if why_not():
        pytest.skip(why_not())
    where, profile = request.param.split("-")
    folder = tmp_path_factory.mktemp(request.param)
    source = shutil.copytree(original, folder / "source")
    with contextlib.ExitStack() as ends:
        what = [source]
        if where == "s3":
            what = ends.enter_context(S3Server(folder / "s3")).publish(source)
        mounts = Mounts(folder)
        ends.callback(mounts.end)
        yield source, mounts.mount(*what, "--profile", profile)


@pytest.fixture
def project(place):
    return place[0]


@pytest.fixture
def mount(place):
    return place[1]


def test_git_clones_from_a_mount(mount, tmp_path):
    run("git", "-c", "safe.directory=*", "clone", "-q", "--no-local", f"file://{mount}/repository.git",
        tmp_path / "clone")
    run("git", "-C", tmp_path / "clone", "fsck", "--strict")
    assert (tmp_path / "clone" / "file2").read_text() == "line\n" * 3


def test_grep_and_find_see_what_is_there(mount, project):
    # Names come in another order.
    assert (sorted(run("grep", "-r", "needle", "text", cwd=mount).splitlines())
            == sorted(run("grep", "-r", "needle", "text", cwd=project).splitlines()))
    listed = ["find", ".", "-type", "f", "-printf", "%s %T@ %p\\0"]
    assert (sorted(run(*listed, cwd=mount).split("\0"))
            == sorted(run(*listed, cwd=project).split("\0")))


def test_tar_packs_a_mount(mount, project, tmp_path):
    (tmp_path / "unpacked").mkdir()
    run("sh", "-c", f"tar c -C {mount} . | tar x -C {tmp_path}/unpacked")
    run("diff", "-r", project, tmp_path / "unpacked")


def test_rsync_and_cp_copy_a_mount(mount, project, tmp_path):
    run("cp", "-r", mount, tmp_path / "copied")
    run("diff", "-r", project, tmp_path / "copied")
    if not shutil.which("rsync"):
        pytest.skip("rsync is not installed")
    run("rsync", "-r", "--times", f"{mount}/", tmp_path / "synced")
    run("diff", "-r", project, tmp_path / "synced")
    again = run("rsync", "-r", "--times", "--itemize-changes", f"{mount}/", tmp_path / "synced")
    assert not [line for line in again.splitlines() if line.startswith(">f")]


def test_python_imports_from_a_mount(mount):
    code = "import package; print(package.answer())"
    assert run(sys.executable, "-B", "-c", code, cwd="/", env={"PYTHONPATH": str(mount)}) == "42\n"
