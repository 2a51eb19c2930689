"""A web server that answers as a script says, for tests of clients.

usage: scripted_server.py PORT FOLDER

FOLDER/script.json is a list of answers, read anew at each request:
  {"request": "GET /v1/config?warehouse=w",   method and target, as sent
   "headers": {"Authorization": "Bearer t"},  what the request must have; else it is not meant
   "form": {"grant_type": "x"},               what its body must say; else it is not meant
   "status": 200, "answer": {…}, "text": "…", "reply": {"Retry-After": "1"}, "times": 2}
The first that is meant and was not given `times` times is given; without one it is 404.
FOLDER/log has a line for each request: method, target and body.
"""

import collections
import json
import os
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, folder = int(sys.argv[1]), sys.argv[2]
given = collections.Counter()


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        request = f"{self.command} {self.path}"
        with open(os.path.join(folder, "log"), "a") as log:
            log.write(f"{request} {body}\n")
        with open(os.path.join(folder, "script.json")) as script:
            answers = json.load(script)
        for number, answer in enumerate(answers):
            if answer["request"] == request and self.meant(answer, body) \
                    and given[number] < answer.get("times", 1 << 30):
                given[number] += 1
                return self.send(answer)
        self.send({"status": 404, "text": "<html>nothing here</html>"})

    def meant(self, answer, body):
        form = dict(urllib.parse.parse_qsl(body))
        return all(self.headers.get(k) == v for k, v in answer.get("headers", {}).items()) \
            and all(form.get(k) == v for k, v in answer.get("form", {}).items())

    def send(self, answer):
        text = answer["text"] if "text" in answer else json.dumps(answer.get("answer", {}))
        data = text.encode()
        reply = answer.get("reply", {})
        status = answer.get("status", 200)
        self.send_response_only(status) if "Date" in reply else self.send_response(status)
        for name, value in reply.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", port), Site).serve_forever()
