"""What people do with Ray Data, on a tree that they give as a file system.

    ray_jobs.py STORAGE_OPTIONS…

prints a list of what came from each tree, as JSON.
"""

import json
import sys
import tempfile

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


def main(*hows):
    with tempfile.TemporaryDirectory(prefix="fb-", dir="/tmp", ignore_cleanup_errors=True) as logs:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=logs,
                 object_store_memory=100 << 20)
        try:
            return [go_through(fsspec.filesystem("forebay", **json.loads(how))) for how in hows]
        finally:
            ray.shutdown()


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
