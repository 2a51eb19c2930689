"""order: which row comes when, and how random that is."""

import pytest


def test_order_shows_each_row_once(cli):
    for order in ("sequential", "window", "global"):
        shown = cli.json("order", "--rows", 10, "--seed", 7, "--order", order)
        assert (shown["order"], shown["rows"], shown["seed"]) == (order, 10, 7)
        assert sorted(shown["first_rows"]) == list(range(10))
    text = cli.run("order", "--rows", 10, "--seed", 7).stdout.splitlines()
    assert text[0] == "POSITION  ROW" and len(text) == 11


def test_order_depends_on_seed_and_epoch(cli):
    seen = {tuple(cli.json("order", "--rows", 1000, "--seed", seed, "--epoch", epoch)["first_rows"])
            for seed, epoch in ((1, 1), (2, 0), (0, 2), (1, 0))}
    assert len(seen) == 4


def test_order_shows_the_first_rows_of_a_large_table_at_once(cli):
    done = cli.run("order", "--rows", 10**11, "--order", "window", "--ranges", 100_000,
                   "--first", 3)
    assert len(done.stdout.splitlines()) == 4
    assert done.stderr == "forebay: the first 3 of 100000000000 rows; --first shows more\n"


def test_quality_of_global_is_that_of_a_shuffle(cli):
    shown = cli.json("order", "--quality", "--rows", 200_000, "--files", 20, "--batch", 256)
    for figures in (shown["quality"], shown["fisher_yates"]):
        assert figures["mean_displacement"] == pytest.approx(1 / 3, abs=0.01)
        assert figures["files_per_batch"] == pytest.approx(20, abs=0.05)
        assert abs(figures["chi_square"] - figures["chi_square_expected"]) < 70
        assert all(abs(lag) < 0.05 for lag in figures["lag1_correlation"])
    assert shown["rows_looked_at"] == 200_000


def test_quality_of_window_lies_between_sequential_and_global(cli):
    def quality(*arguments):
        return cli.json("order", "--quality", "--rows", 200_000, "--files", 20,
                        *arguments)["quality"]
    sequential = quality("--order", "sequential")
    narrow = quality("--order", "window", "--window", 2)
    wide = quality("--order", "window", "--window", 50)
    assert sequential["mean_displacement"] == 0 < narrow["mean_displacement"]
    assert sequential["files_per_batch"] < narrow["files_per_batch"] < wide["files_per_batch"]
    assert sequential["chi_square"] > narrow["chi_square"] > wide["chi_square"]


def test_quality_text_has_both_columns(cli):
    lines = cli.run("order", "--quality", "--rows", 5000, "--order", "window").stdout.splitlines()
    assert lines[0].split() == ["FIGURE", "WINDOW", "FISHER-YATES"]
    assert lines[1].startswith("mean displacement, of the table")
    assert len(lines) == 14


def test_order_of_a_table_uses_its_own_ranges_and_files(cli, table):
    shown = cli.json("order", table, "--quality", "--order", "window", "--window", 2)
    assert (shown["uri"], shown["rows"]) == (f"file://{table}", 80_000)
    assert 1 <= shown["quality"]["files_per_batch"] <= 4
    same = cli.json("order", table, "--seed", 3)["first_rows"]
    assert same == cli.json("order", "--rows", 80_000, "--seed", 3)["first_rows"]
