"""The verbs for trees of files, given what makes no sense: one sentence each."""

import os
import stat
import subprocess

import pytest
from programs import BIN

CASES = [
    # words, exit code, what stderr says
    ("store gc {shared} --keep-free 10", 2,
     "--keep-free wants a share as 10% or a size as 50GiB, not '10'"),
    ("store gc {shared} --keep-free 10%%", 2,
     "--keep-free wants a share as 10% or a size as 50GiB, not '10%%'"),
    ("store gc {shared} --quota 1GiB", 2,
     "--quota and --dry-run are for stores; a shared directory takes --keep-free and --grace"),
    ("store ls {shared}", 2, "{shared} is a shared directory: forebay store usage and gc are for "
     "those, ls and verify for stores"),
    ("store usage {none}", 3, "{none} is not a Forebay store; name the directory of one"),
    ("pull {tree} {file}", 2, "{file} is not a folder: give a folder to pull to"),
    ("pull {file} {none}/x", 3, "there is no folder for {none}/x: make it first"),
    ("pull {tree} {none} --shared {file}", 2,
     "{file} is not a folder: give one that hosts share"),
    ("pull {tree} {none} --shared ", 2, "--shared wants a folder"),
    ("path {file} --shared ", 2, "--shared wants a folder"),
    ("path {tree} --shared {shared}", 2,
     "file://{tree} is a folder: give one file of it, or pull the folder"),
    ("umount {none}", 3, "there is no folder {none}: check the path, or make it first"),
    ("umount {tree}", 3, "no mount of Forebay is at {tree}"),
    ("refresh {tree}", 3, "no mount of yours is at {tree}"),
    ("umount {file}", 3, "no mount of Forebay is at {file}"),
    ("mount {tree} {none}", 3, "there is no folder {none}: check the path, or make it first"),
]


@pytest.fixture
def places(cli, tmp_path):
    (tmp_path / "tree").mkdir()
    for name in ("tree/a", "file"):
        (tmp_path / name).write_bytes(b"a")
        os.utime(tmp_path / name, (1_600_000_000, 1_600_000_000))
    names = {name: str(tmp_path / name) for name in ("tree", "file", "shared", "none")}
    assert cli.run("path", names["file"], "--shared", names["shared"]).returncode == 0
    return names


@pytest.mark.parametrize("words, code, message", CASES)
def test_what_makes_no_sense_is_one_sentence(cli, places, words, code, message):
    if words.startswith("mount") and not (BIN / "forebay-mount").exists():
        pytest.skip("forebay-mount is not built")
    done = cli.run(*words.format(**places).split(" "))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == "forebay: " + message.format(**places) + "\n"


def test_a_store_of_somebody_else_is_not_an_empty_one(cli, tmp_path):
    """As a user who may not read it; root would."""
    store = tmp_path / "store"
    cli.run("pull", BIN / "forebay", tmp_path / "copy")
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    for verb in ("ls", "gc", "usage"):
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", BIN / "forebay",
                               "store", verb, store], text=True, capture_output=True)
        if done.returncode == 127 or "execute" in done.stderr:
            pytest.skip("other users cannot run the programs of this checkout")
        assert done.returncode == 4, (verb, done.stdout)
        assert "Permission denied" in done.stderr
