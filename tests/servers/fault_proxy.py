"""An HTTP proxy in front of a real server that makes answers go wrong, for tests.

usage: fault_proxy.py PORT UPSTREAM_PORT

GET /__plan?stage=S&kind=K&at=A&skip=N&times=N&path=P&run=COMMAND adds a fault:
  stage  list, stat, read or write (any POST): which requests it meets
  path   only those with this in their path
  kind   status500 status503 status429 status403 reset stall short wrong-range extra
         ignore-range slow-start garbage redirect-region
  at     first, middle or last: how much of the body passes before reset, stall or short
         ignore-range does not work on signed requests
  run    a shell command to run when it fires, before anything is sent (to overwrite the
         object in the middle of a read: kind=reset)
  kind=reset at=first on a write: the server has carried it out, and the answer is lost
GET /__fired answers how many faults acted. GET /__clear forgets plan and count.
"""

import http.client
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

UPSTREAM = int(sys.argv[2])
SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
lock = threading.Lock()
plan = []
fired = 0


def stage_of(method, target):
    if method == "POST":
        return "write"
    if "list-type=2" in target or "op=LISTSTATUS" in target:
        return "list"
    if method == "HEAD" or "op=GETFILESTATUS" in target:
        return "stat"
    return "read"


def take_fault(method, target):
    global fired
    with lock:
        for fault in plan:
            if fault["stage"] != stage_of(method, target) or fault["times"] == 0:
                continue
            if fault.get("path", "") not in target:
                continue
            if fault["skip"] > 0:
                fault["skip"] -= 1
                continue
            fault["times"] -= 1
            fired += 1
            return fault
    return None


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def plain(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def control(self):
        global fired
        url = urllib.parse.urlparse(self.path)
        with lock:
            if url.path == "/__plan":
                query = dict(urllib.parse.parse_qsl(url.query))
                query["skip"] = int(query.get("skip", 0))
                query["times"] = int(query.get("times", 1))
                plan.append(query)
            elif url.path == "/__clear":
                plan.clear()
                fired = 0
            count = fired
        self.plain(200, b"%d" % count)

    def upstream(self, change_range=None, host=f"127.0.0.1:{UPSTREAM}", target=None):
        connection = http.client.HTTPConnection(host)
        connection.putrequest(self.command, target or self.path, skip_host=True,
                              skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() == "range" and change_range:
                value = change_range(value)
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(self.body)
        response = connection.getresponse()
        body = response.read()
        if response.status == 307:
            # WebHDFS sends readers to a datanode, where no fault would meet them.
            url = urllib.parse.urlparse(response.getheader("Location"))
            return self.upstream(change_range, url.netloc, url.path + "?" + url.query)
        return response, body

    def send_head(self, response, body, drop=(), add=()):
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection",
                                    *drop):
                self.send_header(name, value)
        length = response.getheader("Content-Length") or str(len(body))
        if "content-length" not in drop:
            self.send_header("Content-Length", length)
        for name, value in add:
            self.send_header(name, value)
        self.end_headers()

    def forward(self):
        response, body = self.upstream()
        self.send_head(response, body)
        if self.command != "HEAD":
            self.wfile.write(body)

    def hang_up(self, with_reset):
        self.close_connection = True
        self.wfile.flush()
        if with_reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.connection.close()
        else:
            self.connection.shutdown(socket.SHUT_RDWR)

    def cut(self, fault):
        """Sends part of the answer, then resets, stalls or closes."""
        response, body = self.upstream()
        at = fault.get("at", "first")
        count = {"first": 0, "middle": len(body) // 2, "last": len(body) - 1}[at]
        if fault["kind"] != "reset" or count > 0:
            self.send_head(response, body)
        if self.command != "HEAD":
            self.wfile.write(body[: max(count, 0)])
        self.wfile.flush()
        if "run" in fault:
            subprocess.run(fault["run"], shell=True, check=True)
        if fault["kind"] == "stall":
            self.connection.settimeout(60)
            try:
                self.connection.recv(1)
            except OSError:
                pass
        elif count > 0:
            time.sleep(0.1)  # what was sent must arrive before the reset overtakes it
        self.hang_up(fault["kind"] == "reset")

    def shifted_range(self):
        """Honest bytes of another range than the one asked for."""
        response, body = self.upstream()
        first, last, total = re.fullmatch(
            r"bytes (\d+)-(\d+)/(\d+)", response.getheader("Content-Range")).groups()
        shifted = ("Content-Range", f"bytes {int(first) + 1}-{last}/{total}")
        length = ("Content-Length", str(len(body) - 1))
        self.send_head(response, body, drop=["content-length", "content-range"],
                       add=[shifted, length])
        self.wfile.write(body[1:])

    def misbehave(self, fault):
        kind = fault["kind"]
        if kind.startswith("status"):
            status = int(kind[len("status"):])
            headers = [("Retry-After", "1")] if status == 429 else []
            self.plain(status, SLOW_DOWN if status == 503 else b"", headers)
        elif kind == "redirect-region":
            self.plain(301, b"", [("x-amz-bucket-region", "eu-west-1")])
        elif kind in ("reset", "stall", "short"):
            self.cut(fault)
        elif kind == "wrong-range":
            self.shifted_range()
        elif kind == "ignore-range":
            response, body = self.upstream(lambda _: None)
            self.send_head(response, body)
            self.wfile.write(body)
        elif kind == "extra":
            response, body = self.upstream()
            self.send_head(response, body, drop=["content-length"],
                           add=[("Connection", "close")])
            self.wfile.write(body + b"extra")
            self.close_connection = True
        elif kind == "slow-start":
            time.sleep(1.5)
            self.forward()
        elif kind == "garbage":
            self.wfile.write(b"this is not HTTP\r\n\r\n")
            self.hang_up(False)

    def do_GET(self):
        if self.path.startswith("/__"):
            return self.control()
        size = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(size) if size else None
        fault = take_fault(self.command, self.path)
        try:
            if fault:
                self.misbehave(fault)
            else:
                self.forward()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_POST = do_GET

    def log_message(self, *_):
        pass


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Proxy).serve_forever()
