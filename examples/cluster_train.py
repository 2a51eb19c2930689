#!/usr/bin/env python3
"""Trains against a cluster: its rows come from whichever node holds them.

    make cluster                                              # in another terminal
    FOREBAY_NODE=…/node0.sock python examples/cluster_train.py

Only the host's own node is talked to; it asks the others, and the source only for what none of
them has. Kill a node while it runs: nothing but the time of one step changes.
"""

import json
import os
import sys
import urllib.request

import numpy as np
from example_table import FEATURES, ROWS, table

import forebay

HEAD = os.environ.get("FOREBAY_HEAD", "127.0.0.1:7070")
EPOCHS = 3


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{HEAD}{path}", data, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main():
    # The same as: forebay dataset create example --source FOLDER --replicas 2
    call("POST", "/v1/datasets", {"name": "example", "source": table(), "replicas": 2})
    dataset = forebay.open(f"forebay://{HEAD}/example")
    weights = np.zeros(FEATURES, dtype="f4")
    for epoch in range(EPOCHS):
        losses = []
        for batch in dataset.batches(100, shuffle="global", seed=7, epoch=epoch):
            error = batch["x"] @ weights - batch["y"]
            weights -= 0.05 * batch["x"].T @ error / len(error)
            losses.append(float((error**2).mean()))
        print(f"epoch {epoch}: {ROWS} rows, loss {np.mean(losses):.4f}")
    nodes = call("GET", "/v1/nodes")["nodes"]
    print("nodes:", ", ".join(f"{node['id']} {node['state']}" for node in nodes))
    return 0 if np.mean(losses) < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
