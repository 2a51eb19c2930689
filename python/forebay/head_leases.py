"""Leases that a cluster's head keeps, for ranks on several hosts."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
import uuid
from typing import Any, NamedTuple

# A head that starts anew, or another that takes over, is there by then.
_PATIENCE_SECONDS = 60.0
_REDIRECTS_MAX = 3


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
        self._leader = ""  # where a head that does not lead has sent us
        self._about = {"epoch": epoch, "rows": rows, "lease_rows": lease_rows,
                       "lease_ms": lease_ms, "holder": holder}
        self.progress()  # a head that is not there is an error here

    def take(self) -> HeadGrant:
        # Of this call: repeated where an answer was lost, it is given the same lease.
        answer = self._call("take", request=uuid.uuid4().hex)
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

    def _call(self, verb: str, **more: int | str) -> Any:
        body = json.dumps({**self._about, **more})
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                status, answer = self._ask(f"/v1/leases/{verb}", body)
            except (OSError, http.client.HTTPException) as error:
                status, answer = 503, {"error": {"message": str(error)}}
            if status < 300:
                return answer
            message = answer.get("error", {}).get("message", "no reason was given")
            if answer.get("error", {}).get("code") == "source changed":
                return None
            if status not in (307, 502, 503, 504):
                head = self._leader or self._heads[0]
                raise ValueError(f"the head at {head} refuses leases: {message}")
            if time.monotonic() > end:
                raise ConnectionError(
                    f"no head keeps leases at {', '.join(self._heads)}: {message}")
            # The next one; the one that leads may be any of them.
            self._heads = self._heads[1:] + self._heads[:1]
            self._leader = ""
            time.sleep(0.1)

    def _ask(self, path: str, body: str) -> tuple[int, Any]:
        """Asks the head that leads, as far as is known, and goes where it sends us."""
        for _ in range(_REDIRECTS_MAX):
            status, location, answer = _post(self._leader or self._heads[0], path, body)
            leader = urllib.parse.urlsplit(location).netloc
            if status != 307 or not leader:
                break
            self._leader = leader
        return status, answer


def _post(head: str, path: str, body: str) -> tuple[int, str, Any]:
    """Status, Location and JSON of the answer."""
    link = http.client.HTTPConnection(head, timeout=10)
    try:
        link.request("POST", path, body, {"Content-Type": "application/json"})
        answer = link.getresponse()
        text = answer.read()
        location = answer.getheader("Location", "")
        try:
            return answer.status, location, json.loads(text or b"{}")
        except ValueError:
            return answer.status, location, {}
    finally:
        link.close()
