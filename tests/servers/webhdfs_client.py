"""Writes to HDFS through WebHDFS, for tests.

usage: webhdfs_client.py ADDRESS put PATH FILE
       webhdfs_client.py ADDRESS delete PATH
       webhdfs_client.py ADDRESS wait          until a datanode takes writes
"""

import http.client
import sys
import time
import urllib.parse


def send(method, url, body=b""):
    parts = urllib.parse.urlparse(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    target = parts.path + "?" + parts.query
    connection.request(method, target, body if body else None)
    response = connection.getresponse()
    return response.status, response.getheader("Location"), response.read()


def url_of(path, query):
    path = urllib.parse.quote(path, safe="/")
    return f"{sys.argv[1]}/webhdfs/v1{path}?user.name=root&{query}"


def put(path, body):
    status, location, text = send("PUT", url_of(path, "op=CREATE&overwrite=true"))
    if status == 307:
        status, _, text = send("PUT", location, body)
    return status, text


def wait():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if put("/ready", b"x")[0] == 201:
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit("HDFS does not take writes")


def main():
    verb = sys.argv[2]
    if verb == "wait":
        return wait()
    if verb == "put":
        with open(sys.argv[4], "rb") as file:
            status, text = put(sys.argv[3], file.read())
    else:
        status, _, text = send("DELETE", url_of(sys.argv[3], "op=DELETE"))
    if status >= 300:
        sys.exit(f"{verb} {sys.argv[3]}: {status} {text[:500]!r}")


main()
