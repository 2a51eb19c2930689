"""What deploy/ holds for systemd is what systemd takes."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SYSTEMD = Path(__file__).resolve().parents[1] / "deploy/systemd"
UNITS = sorted(SYSTEMD.glob("*.service"))


def unit_of(path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(path.read_text())
    return unit


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_a_program_and_restarts_it(path):
    unit = unit_of(path)
    assert unit["Unit"]["Description"] and unit["Install"]["WantedBy"]
    assert unit["Service"]["ExecStart"].startswith(f"/usr/bin/{path.stem} ")
    assert unit["Service"]["Restart"] == "always"


def test_the_head_says_that_it_listens_without_authentication():
    start = unit_of(SYSTEMD / "forebay-head.service")["Service"]["ExecStart"]
    assert "--listen 0.0.0.0:7070 --insecure " in start


def test_the_node_is_a_user_of_its_own_and_serves_its_group():
    service = unit_of(SYSTEMD / "forebay-node.service")["Service"]
    made = re.findall(r"^u (\S+)", (SYSTEMD / "forebay.sysusers.conf").read_text(), re.M)
    assert [service["User"]] == [service["Group"]] == made
    assert f"--socket-group {made[0]} " in service["ExecStart"]
    assert service["RuntimeDirectory"] == "forebay"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_takes_the_unit(path, tmp_path):
    # The programs need not be installed here.
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", path.read_text(), flags=re.M)
    copy = tmp_path / path.name
    copy.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True,
                          timeout=60)
    about = [line for line in done.stderr.splitlines() if str(copy) in line or path.name in line]
    assert not about, done.stderr
