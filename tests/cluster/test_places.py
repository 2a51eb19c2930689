"""Heads take every spelling of a place that Python takes."""

import pytest
from data_cache import DataCache
from test_kubeflow import make_table, metadata_of

SPELLINGS = ["{}", "{}/", "file:{}", "file://{}", "file://localhost{}"]


def test_a_head_takes_every_spelling_of_a_source_for_the_same(head, table, forebay):
    versions = set()
    for number, spelling in enumerate(SPELLINGS):
        source = spelling.format(table)
        status, made = head.call("POST", "/v1/datasets", {"name": f"d{number}", "source": source})
        assert status == 200, (source, made)
        assert made["rows"] == 3_000
        versions.add(made["version"])
        # The same place in other words is no other wish.
        status, again = head.call("POST", "/v1/datasets", {"name": "d0", "source": source})
        assert status == 200, (source, again)
        forebay("dataset", "create", f"c{number}", "--source", source, "--head", head.address)
        assert head.get(f"/v1/datasets/c{number}")["rows"] == 3_000
    assert len(versions) <= 2  # with and without a slash at the end


def test_a_head_refuses_an_option_that_nothing_reads(head, table):
    status, answer = head.call("POST", "/v1/datasets",
                               {"name": "d", "source": str(table),
                                "options": {"s3.endpont": "http://127.0.0.1:1"}})
    assert status == 400
    assert "did you mean s3.endpoint?" in answer["error"]["message"]


@pytest.mark.parametrize("spelling", ["file:{}", "file://localhost{}"])
def test_kubeflows_head_is_ready_for_metadata_as_spark_names_it(tmp_path, spelling):
    table, _ = make_table(tmp_path / "a table", rows=1_000, files=2)
    with DataCache(spelling.format(metadata_of(table))) as cache:
        cache.wait_ready()
        assert cache.share(0, 1).num_rows == 1_000
