"""Leases that a cluster's head keeps, for ranks on several hosts."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any, NamedTuple

# A head that starts anew, or another that takes over, is there by then.
_PATIENCE_SECONDS = 60.0


class HeadGrant(NamedTuple):
    """As of a lease file: positions [first, first + count), or none."""

    fence: int = 0
    first: int = 0
    count: int = 0
    finished: bool = False
    wait_seconds: float = 0.0


class HeadLeases:
    """The same calls as those of a lease file, made to a head.

    heads   ``"host:7070"``, several with commas
    epoch   whatever the order of the rows depends on
    """

    def __init__(self, heads: str, *, epoch: str, rows: int, lease_rows: int, lease_ms: int,
                 holder: str):
        self._heads = [head for head in heads.split(",") if head]
        if not self._heads:
            raise ValueError("leases name no head: write forebay://head:7070")
        self._about = {"epoch": epoch, "rows": rows, "lease_rows": lease_rows,
                       "lease_ms": lease_ms, "holder": holder}
        self.progress()  # a head that is not there is an error here

    def take(self) -> HeadGrant:
        answer = self._call("take")
        lease = answer.get("lease")
        if lease is None:
            return HeadGrant(finished=answer["finished"],
                             wait_seconds=answer.get("wait_ms", 0) / 1000)
        return HeadGrant(lease["fence"], lease["first"], lease["count"])

    def acknowledge(self, fence: int, until: int) -> bool:
        """False: the lease was given to another."""
        return self._call("acknowledge", fence=fence, until=until) is not None

    def release(self, fence: int) -> bool:
        return self._call("release", fence=fence) is not None

    def progress(self) -> tuple[int, int, int]:
        answer = self._call("progress")
        return answer["rows"], answer["acknowledged"], answer["held"]

    def _call(self, verb: str, **more: int) -> Any:
        body = json.dumps({**self._about, **more})
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                status, answer = _post(self._heads[0], f"/v1/leases/{verb}", body)
            except (OSError, http.client.HTTPException) as error:
                status, answer = 503, {"error": {"message": str(error)}}
            if status < 300:
                return answer
            message = answer.get("error", {}).get("message", "no reason was given")
            if answer.get("error", {}).get("code") == "source changed":
                return None
            if status not in (307, 502, 503, 504):
                raise ValueError(f"the head at {self._heads[0]} refuses leases: {message}")
            if time.monotonic() > end:
                raise ConnectionError(
                    f"no head keeps leases at {', '.join(self._heads)}: {message}")
            # The next one; the one that leads may be any of them.
            self._heads = self._heads[1:] + self._heads[:1]
            time.sleep(0.1)


def _post(head: str, path: str, body: str) -> tuple[int, Any]:
    link = http.client.HTTPConnection(head, timeout=10)
    try:
        link.request("POST", path, body, {"Content-Type": "application/json"})
        answer = link.getresponse()
        text = answer.read()
        try:
            return answer.status, json.loads(text or b"{}")
        except ValueError:
            return answer.status, {}
    finally:
        link.close()
