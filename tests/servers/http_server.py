"""A small web server over a folder, for tests: HEAD and GET with ranges and ETags.

usage: http_server.py PORT FOLDER [--no-range] [--no-head] [--etag strong|weak|none]
                                  [--no-last-modified] [--user NAME:PASSWORD]
"""

import argparse
import base64
import email.utils
import os
import re
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("folder")
parser.add_argument("--no-range", action="store_true")
parser.add_argument("--no-head", action="store_true")
parser.add_argument("--no-last-modified", action="store_true")
parser.add_argument("--etag", default="strong")
parser.add_argument("--user")
arguments = parser.parse_args()


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def refuse(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def allowed(self):
        if not arguments.user:
            return True
        token = base64.b64encode(arguments.user.encode()).decode()
        return self.headers.get("Authorization") == "Basic " + token

    def validators(self, stat):
        tag = f'"{stat.st_mtime_ns:x}-{stat.st_ino:x}-{stat.st_size:x}"'
        headers = {}
        if arguments.etag != "none":
            headers["ETag"] = tag if arguments.etag == "strong" else "W/" + tag
        if not arguments.no_last_modified:
            headers["Last-Modified"] = email.utils.formatdate(stat.st_mtime, usegmt=True)
        return headers

    def answer(self, with_body):
        path = urllib.parse.unquote(self.path.split("?")[0])
        if not self.allowed():
            return self.refuse(401)
        if path.startswith("/redirect/"):
            self.send_response(302)
            self.send_header("Location", path[len("/redirect"):])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        try:
            file = open(arguments.folder + path, "rb")
        except IsADirectoryError:
            return self.refuse(404)
        except PermissionError:
            return self.refuse(403)
        except OSError:
            return self.refuse(404)
        with file:
            self.send_file(file, with_body)

    def send_file(self, file, with_body):
        stat = os.fstat(file.fileno())
        headers = self.validators(stat)
        wanted = self.headers.get("If-Match")
        if wanted and wanted != headers.get("ETag"):
            return self.refuse(412)
        first, last, status = 0, stat.st_size - 1, 200
        ranged = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if ranged and not arguments.no_range:
            first = int(ranged[1])
            last = min(int(ranged[2] or last), last)
            if first > last:
                return self.refuse(416)
            status = 206
            headers["Content-Range"] = f"bytes {first}-{last}/{stat.st_size}"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        if with_body:
            file.seek(first)
            self.wfile.write(file.read(last - first + 1))

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        if arguments.no_head:
            return self.refuse(405)
        self.answer(False)

    def log_message(self, *_):
        pass


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", arguments.port), Site).serve_forever()
