"""What people do with Ray Data, on a tree that they give as a file system.

    ray_jobs.py STORAGE_OPTIONS…

prints a list of what came from each tree, as JSON.
"""

import json
import sys

import fsspec
import ray


def go_through(fs):
    table = ray.data.read_parquet("table", filesystem=fs)
    sheets = ray.data.read_csv(["sheets/0.csv", "sheets/1.csv"], filesystem=fs)
    parts = ray.data.read_binary_files("parts", filesystem=fs, include_paths=True)
    images = ray.data.read_images("images", filesystem=fs, include_paths=True)

    def size(row):  # a task of a worker, with the file system in it
        return {"path": row["path"], "size": len(fs.cat(row["path"]))}
    return {
        "parquet": [(row["x"], row["name"]) for row in table.take_all()],
        "csv": [(row["x"], row["name"]) for row in sheets.take_all()],
        "binary": [(row["path"], row["bytes"].hex()) for row in parts.take_all()],
        "images": [(row["path"], row["image"][0, 0].tolist()) for row in images.take_all()],
        "map": [(row["path"], row["size"])
                for row in parts.select_columns("path").map(size).take_all()]}


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
             object_store_memory=100 << 20)
    try:
        found = [go_through(fsspec.filesystem("forebay", **json.loads(how)))
                 for how in sys.argv[1:]]
    finally:
        ray.shutdown()
    print(json.dumps(found))
