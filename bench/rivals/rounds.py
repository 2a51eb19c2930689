"""What the programs of other loaders share: each prepares itself, says so, and then reads
its rows once for every line that it is sent. It answers with rows and seconds."""

import sys
import time


def serve(read):
    """`read()` reads once and returns how many rows came."""
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        rows = read()
        print(rows, time.perf_counter() - began, flush=True)
