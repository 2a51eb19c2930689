"""Commands that need no node → exit code and the one sentence on stderr."""

import json
import os
import re
import statistics
import subprocess

import pytest

from programs import BIN, ROOT



def verbs_in(table):
    """The tables of verbs are the one place that lists them."""
    text = (ROOT / "src/cli" / table).read_text()
    return ", ".join(re.findall(r'^    \{"([a-z]+)",', text, re.M))


VERBS = verbs_in("verbs.cc")

WRONG = [
    ("", 2, f"a verb is missing; the verbs of forebay are {VERBS}; see forebay --help"),
    ("frob", 2, f"there is no verb 'frob'; the verbs of forebay are {VERBS}; see forebay --help"),
    ("store", 2, f"a verb is missing; the verbs of forebay store are {verbs_in('store.cc')}; "
                 "see forebay store --help"),
    ("dataset", 2, "a verb is missing; the verbs of forebay dataset are "
                   f"{verbs_in('cluster/dataset.cc')}; see forebay dataset --help"),
    ("nodes --head 127.0.0.1:1", 8, "127.0.0.1:1 does not answer: Connection refused"),
    ("inspect", 2, "URI is required; see forebay inspect --help"),
    ("inspect t --frob", 2, "The following argument was not expected: --frob; "
                            "see forebay inspect --help"),
    ("inspect t -o yaml", 2, "--output: 'yaml' is neither table nor json; "
                             "see forebay inspect --help"),
    ("inspect t --option frob", 2, "--option wants KEY=VALUE"),
    ("inspect t --option a=1 --option a=2", 2, "--option a is given twice"),
    ("inspect t -O a=1 -O a=2", 2, "--option a is given twice"),
    ("inspect t --catalog x -O catalog=y", 2, "--option catalog is also given by its own name"),
    ("inspect t --tag a --branch b", 2, "give at most one of --snapshot, --tag, --branch and "
                                        "--as-of"),
    ("inspect t --snapshot gold", 2, "--snapshot wants the number of a snapshot, not 'gold'; "
                                     "for names there are --tag and --branch"),
    ("inspect t --as-of soon", 2, "'soon' is not a time; write 2026-10-01T00:00:00Z, 2026-10-01 "
                                  "or milliseconds since 1970"),
    ("inspect t --remap x", 2, "--remap wants OLD=NEW, as s3://old-bucket/=s3://new-bucket/, "
                               "not 'x'"),
    ("inspect iceberg+rest://h/events", 2, "a table of a catalog is named by its namespace and "
                                           "its name, as db.events, not 'events'"),
    ("inspect t --timeout soon", 2, "'soon' is not a span of time; write 30s, 10m or 2h"),
    ("inspect t --store frob", 2, "not a tier: 'frob'; write a store like "
                                  "mem:4GiB,ssd:/var/cache/forebay:100GiB"),
    ("inspect t --timeout 1s --node /no/such.sock", 8,
     "no node answers at /no/such.sock: check that it runs and that the path is right "
     "(connect to the node at /no/such.sock: No such file or directory)"),
    ("bench t --batch-size 0", 2, "--batch-size: Value 0 not in range 1 to 4294967296; "
                                  "see forebay bench --help"),
    ("worker", 2, "HOST is required; see forebay worker --help"),
    ("order", 2, "give the URI of a table, or --rows for one that is made up"),
    ("order t --rows 5", 2, "a URI and --rows are given: give only one of them"),
    ("order --rows 5 --order frob", 2, "There is no order \"frob\": use \"sequential\", "
                                       "\"window\" or \"global\"."),
    ("order --rows 0", 2, "--rows: Value 0 not in range 1 to 281474976710656; "
                          "see forebay order --help"),
    ("store ls /no/such", 3, "/no/such is not a Forebay store; name the directory of one"),
    ("store verify /no/such", 3, "/no/such is not a Forebay store; name the directory of one"),
    ("store gc /no/such", 3, "/no/such is not a Forebay store; name the directory of one"),
    ("store gc x --quota frob", 2, "not a size: 'frob'; write it like 4GiB or 500MB"),
    ("store gc x --quota 20", 2, "20 what? write 20GiB"),
    ("node --store mem:4", 2, "tier 'mem:4' has no size: 4 what? write 4GiB; write a store like "
                              "mem:4GiB,ssd:/var/cache/forebay:100GiB"),
]


@pytest.mark.parametrize("command, code, sentence", WRONG, ids=[w[0] or "-" for w in WRONG])
def test_what_is_wrong_is_said_in_one_sentence(cli, command, code, sentence):
    done = cli.run(*command.split())
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == f"forebay: {sentence}\n"


@pytest.mark.parametrize("command", ["", "inspect", "warmup", "status", "store", "store ls",
                                     "store verify", "store gc", "node", "nodes", "dataset",
                                     "dataset create", "dataset list", "dataset show",
                                     "dataset refresh", "dataset delete", "bench", "order",
                                     "version", "worker"])
def test_help_goes_to_stdout(cli, command):
    done = cli.run(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: forebay {command}".rstrip() in done.stdout


def test_version_is_the_same_everywhere(cli):
    text = cli.run("version").stdout
    assert text == cli.run("--version").stdout
    assert text == f"forebay {cli.json('version')['version']}\n"


@pytest.mark.parametrize("command", [
    ["forebay", "version"], ["forebay-head"], ["forebay-node", "--store", "mem:1GiB",
     "--socket", "s"], ["forebay-mount", "s", "d"], ["forebay-kubeflow", "head", "h", "1"]],
    ids=lambda command: command[0])
def test_every_program_refuses_a_log_level_that_is_none(cli, tmp_path, command):
    environment = {**cli.env, "FOREBAY_LOG": "wraning", "METADATA_LOC": "/m",
                   "RUNTIME_ENV": "LOCAL"}
    done = subprocess.run([BIN / command[0], *command[1:]], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert ("FOREBAY_LOG is 'wraning': the levels are debug, info, warning, error, off; did you "
            "mean warning?\n") in done.stderr


def test_a_full_disk_is_no_success(cli):
    with open("/dev/full", "w") as full:
        done = cli.run("version", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 7
    assert done.stderr == "forebay: write to stdout: No space left on device\n"


def test_status_without_nodes_is_an_empty_list(cli):
    done = cli.run("status", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"nodes": []})
    assert done.stderr.startswith("forebay: no node of yours runs on this host")


def test_dead_sockets_are_passed_over(cli):
    import socket
    folder = cli.runtime / "forebay"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
        dead.bind(str(folder / "dead.sock"))
    assert cli.json("status") == {"nodes": []}


def test_the_program_loads_no_arrow_and_starts_at_once(cli):
    libraries = subprocess.run(["ldd", BIN / "forebay"], capture_output=True, text=True).stdout
    assert "libc.so" in libraries
    for name in ("arrow", "parquet", "curl", "python"):
        assert name not in libraries
    def user_seconds():
        before = os.times()
        cli.run("version")
        after = os.times()
        return (after.children_user + after.children_system
                - before.children_user - before.children_system)
    # Processor time, since others may be using the machine; 20 ms is the promise.
    assert statistics.median(user_seconds() for _ in range(9)) <= 0.020
