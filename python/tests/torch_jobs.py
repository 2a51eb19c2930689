"""Training jobs of several ranks, each a forked process with or without workers, that
write down what they receive; and what such records say."""

import itertools
import json
import os
import signal
import traceback
import warnings
from pathlib import Path

from forebay.torch import DataLoader, Dataset, Loader


def loader_for(dataset, workers, **arguments):
    """workers: a number, or None for native threads."""
    if workers is None:
        return Loader(dataset, **arguments)
    context = "fork" if workers else None
    return DataLoader(dataset, num_workers=workers, multiprocessing_context=context,
                      **arguments)


def rows_of(batch):
    """The rows of a batch that are no filler."""
    x = batch["x"]
    return (x[batch["__mask__"]] if "__mask__" in batch else x).tolist()


class Job:
    """``folder`` has a record for each rank of each run: a line for each step, with the
    state after it."""

    def __init__(self, folder, uri, **arguments):
        self.folder = Path(folder)
        self.uri = uri
        self.arguments = arguments
        self.state = None
        self.rows = []  # consumed up to the state
        self._runs = 0

    def run(self, world, workers, kill_at=None, **arguments):
        """Runs all ranks from the last state on. Rank r dies by kill -9 when it has
        received kill_at[r] batches; without, it goes on to the end of the epoch."""
        self._runs += 1
        records = [self.folder / f"{self._runs}-{rank}" for rank in range(world)]
        pids = []
        for rank, record in enumerate(records):
            pid = os.fork()
            if pid == 0:
                last = None if kill_at is None else kill_at[rank]
                self._in_child(record, (rank, world), workers, last, arguments)
            pids.append(pid)
        ends = [os.waitpid(pid, 0)[1] for pid in pids]
        for record, end in zip(records, ends):
            assert end in (0, signal.SIGKILL), record.with_suffix(".error").read_text()
        finished = all(end == 0 for end in ends)
        self._settle([_steps(record) for record in records], finished)
        return finished

    def _in_child(self, record, place, workers, kill_at, arguments):
        code = 1
        try:
            warnings.simplefilter("ignore")
            self._train(record, place, workers, kill_at, arguments)
            code = 0
        except BaseException:
            record.with_suffix(".error").write_text(traceback.format_exc())
        finally:
            os._exit(code)

    def _train(self, record, place, workers, kill_at, arguments):
        dataset = Dataset(self.uri, rank=place[0], world_size=place[1],
                          **{**self.arguments, **arguments})
        if self.state is not None:
            dataset.load_state_dict(self.state)
        with open(record, "w", buffering=1) as out:
            for step, batch in enumerate(loader_for(dataset, workers), 1):
                if step == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                out.write(json.dumps([dataset.state_dict(), rows_of(batch)]) + "\n")

    def _settle(self, ranks, finished):
        """What every rank has done is kept: that is where a checkpoint could be. At the
        end of an epoch some may have one step less."""
        for steps in itertools.zip_longest(*ranks) if finished else zip(*ranks):
            steps = [step for step in steps if step is not None]
            states = [state for state, _ in steps]
            assert all(state == states[0] for state in states), states
            self.state = states[0]
            for _, rows in steps:
                self.rows += rows


def _steps(record):
    lines = record.read_text().split("\n")[:-1] if record.exists() else []
    return [json.loads(line) for line in lines]
