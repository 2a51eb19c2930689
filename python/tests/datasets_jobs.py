"""What people do with Hugging Face datasets, on a tree that they name by forebay://.

    datasets_jobs.py JOB STORAGE_OPTIONS…

prints a list of what came from each tree, as JSON.
"""

import json
import sys

import datasets
import fsspec

TABLE = {"data_files": "forebay://table/*.parquet", "split": "train"}
SHEETS = {"data_files": {"train": ["forebay://sheets/0.csv", "forebay://sheets/1.csv"]},
          "split": "train"}
IMAGES = {"data_files": {"train": "forebay://images/**"}, "split": "train"}


def rows(dataset):
    return sorted((row["x"], row["name"]) for row in dataset)


def labelled(dataset):
    names = dataset.features["label"].names
    return sorted((names[row["label"]], row["image"].getpixel((0, 0))) for row in dataset)


def parquet(how):
    return rows(datasets.load_dataset("parquet", storage_options=how, **TABLE))


def one_sheet(how):
    config = datasets.DownloadConfig(storage_options=how)
    return rows(datasets.load_dataset("csv", data_files="forebay://one.csv", split="train",
                                      download_config=config))


def csv_by_two_processes(how):
    return rows(datasets.load_dataset("csv", storage_options=how, num_proc=2, **SHEETS))


def streamed_parquet(how):
    return rows(datasets.load_dataset("parquet", storage_options=how, streaming=True, **TABLE))


def streamed_csv(how):
    return rows(datasets.load_dataset("csv", storage_options=how, streaming=True, **SHEETS))


def images(how):
    return labelled(datasets.load_dataset("imagefolder", storage_options=how, **IMAGES))


def streamed_images(how):
    """The library forgets storage options before it opens images: they are the process's own."""
    fsspec.config.conf["forebay"] = how
    return labelled(datasets.load_dataset("imagefolder", streaming=True, **IMAGES))


def map_by_two_processes(how):
    """The function has the file system with it."""
    fs = fsspec.filesystem("forebay", **how)
    names = datasets.Dataset.from_dict({"path": fs.glob("parts/*")})
    sizes = names.map(lambda row: {"size": len(fs.cat(row["path"]))}, num_proc=2)
    return [[row["path"], row["size"]] for row in sizes]


def streamed_by_workers(how, context="fork"):
    import torch.utils.data
    dataset = datasets.load_dataset("parquet", storage_options=how, streaming=True, **TABLE)
    return rows(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2,
                                            multiprocessing_context=context))


def streamed_by_spawned_workers(how):
    return streamed_by_workers(how, "spawn")


if __name__ == "__main__":
    job = globals()[sys.argv[1]]
    print(json.dumps([job(json.loads(how)) for how in sys.argv[2:]]))
