"""Arguments about Iceberg become options of the node, or sentences that say what is wrong."""

import datetime
import pathlib
import pickle

import forebay
import pytest
from forebay import _iceberg

NOTHING = dict.fromkeys(("snapshot", "tag", "branch", "as_of", "filter", "remap", "allow",
                         "catalog", "warehouse", "token", "credential"))
OCTOBER = 1_790_812_800_000


def options(**given):
    return _iceberg.options(**{**NOTHING, **given})


def test_arguments_become_options():
    assert options() == {}
    assert options(snapshot=2**62, filter="x > 1", remap={"s3://a/": "s3://b/"},
                   allow=["s3://c/", pathlib.Path("/d")], catalog="prod", warehouse="w",
                   token="t", credential="c") == {
        "forebay.snapshot": str(2**62), "forebay.filter": "x > 1",
        "forebay.remap.s3://a/": "s3://b/", "forebay.allow.0": "s3://c/",
        "forebay.allow.1": "/d", "catalog": "prod", "warehouse": "w", "token": "t",
        "credential": "c"}
    assert options(tag="gold") == {"forebay.tag": "gold"}
    assert options(branch="dev") == {"forebay.branch": "dev"}


@pytest.mark.parametrize("as_of, ms", [
    ("2026-10-01T00:00:00Z", OCTOBER), ("2026-10-01", OCTOBER), ("2026-10-01 00:00", OCTOBER),
    ("2026-10-01T02:00:00.000999+02:00", OCTOBER), (str(OCTOBER), OCTOBER), (OCTOBER, OCTOBER),
    (OCTOBER / 1000 + 0.001, OCTOBER + 1),
    (datetime.datetime(2026, 10, 1), OCTOBER),
    (datetime.datetime(2026, 10, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
     OCTOBER),
    ("1969-12-31T23:59:59.9999Z", -1)])
def test_times_are_milliseconds_and_utc_where_they_name_no_zone(as_of, ms):
    assert options(as_of=as_of) == {"forebay.as-of": str(ms)}


@pytest.mark.parametrize("given, sentence", [
    ({"snapshot": 1, "tag": "x"}, "at most one of .* not snapshot and tag"),
    ({"branch": "b", "as_of": 0}, "at most one"),
    ({"snapshot": "gold"}, "snapshot must be a whole number"),
    ({"snapshot": -1}, "snapshot"),
    ({"as_of": "yesterday"}, "2026-10-01T00:00:00Z.*yesterday"),
    ({"as_of": True}, "as_of"), ({"as_of": float("nan")}, "as_of"),
    ({"tag": ""}, "tag must be a text"), ({"filter": 7}, "filter must be a text"),
    ({"remap": "s3://a"}, "remap must be a dict"), ({"remap": {"": "x"}}, "remap"),
    ({"allow": "s3://a"}, r"allow must be a list of prefixes: \['s3://a'\]"),
    ({"allow": [1]}, "allow")])
def test_what_is_wrong_is_said(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        options(**given)


def test_secrets_are_not_repeated():
    with pytest.raises(ValueError) as raised:
        options(token=["SECRET"])
    assert "SECRET" not in str(raised.value)


def test_wrong_arguments_are_errors_of_open(numbers):
    with pytest.raises(ValueError, match="at most one"):
        forebay.open(numbers, snapshot=1, tag="x")


def test_arguments_survive_pickling(numbers, monkeypatch):
    seen = []
    real = forebay.dataset._native.open

    def watched(arguments):
        seen.append(dict(arguments.source))
        arguments.source = {}  # a folder of files is no Iceberg table
        return real(arguments)

    monkeypatch.setattr(forebay.dataset._native, "open", watched)
    ds = forebay.open(numbers, filter="x > 1", allow=iter(["s3://a/"]), token="t")
    assert pickle.loads(pickle.dumps(ds)).num_rows == ds.num_rows
    assert seen[0] == seen[1] == {"forebay.filter": "x > 1", "forebay.allow.0": "s3://a/",
                                  "token": "t"}


def test_torch_passes_arguments_on(numbers):
    torch = pytest.importorskip("forebay.torch")
    with pytest.raises(ValueError, match="at most one"):
        torch.Dataset(numbers, 10, snapshot=1, tag="x")
    with pytest.raises(ValueError, match="snapshot.*is open"):
        torch.Dataset(forebay.open(numbers), 10, snapshot=1)
    with pytest.raises(TypeError, match="frob"):
        torch.Dataset(numbers, 10, frob=1)
