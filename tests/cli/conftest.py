"""Each test has a store and nodes of its own, which end with it; the table is made once."""

import shutil

import pytest

from programs import Cli, write_table


@pytest.fixture
def cli(tmp_path):
    cli = Cli(tmp_path)
    yield cli
    cli.end_nodes()
    shutil.rmtree(cli.runtime)


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """80,000 rows in 4 files."""
    return write_table(tmp_path_factory.mktemp("table") / "events")
