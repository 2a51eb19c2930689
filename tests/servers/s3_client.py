"""Writes to an S3 server, for tests: signs with AWS signature version 4, stdlib only.

usage: s3_client.py ENDPOINT make-bucket BUCKET
       s3_client.py ENDPOINT put BUCKET KEY FILE
       s3_client.py ENDPOINT put-many BUCKET PREFIX COUNT
       s3_client.py ENDPOINT delete BUCKET KEY
The keys are ROOT_ACCESS_KEY and ROOT_SECRET_KEY of the environment.
"""

import datetime
import hashlib
import hmac
import http.client
import os
import sys
import urllib.parse

KEY = os.environ["ROOT_ACCESS_KEY"]
SECRET = os.environ["ROOT_SECRET_KEY"]
REGION = "us-east-1"


def hmac256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def sign(method, path, host, payload_hash):
    now = datetime.datetime.now(datetime.timezone.utc)
    date, stamp = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": host, "x-amz-content-sha256": payload_hash, "x-amz-date": stamp}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{payload_hash}"
    scope = f"{date}/{REGION}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    key = hmac256(("AWS4" + SECRET).encode(), date)
    for part in (REGION, "s3", "aws4_request"):
        key = hmac256(key, part)
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}"
    signature = hmac256(key, text).hex()
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={KEY}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return headers


class Connection:
    def __init__(self, endpoint):
        self.host = urllib.parse.urlparse(endpoint).netloc
        self.connection = http.client.HTTPConnection(self.host)

    def send(self, method, bucket, key="", body=b""):
        path = "/" + bucket
        if key:
            path += "/" + urllib.parse.quote(key, safe="/~")
        headers = sign(method, path, self.host, hashlib.sha256(body).hexdigest())
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        text = response.read()
        if response.status >= 300:
            sys.exit(f"{method} {path}: {response.status} {text[:500]!r}")


def main():
    connection = Connection(sys.argv[1])
    verb, bucket, *rest = sys.argv[2:]
    if verb == "make-bucket":
        connection.send("PUT", bucket)
    elif verb == "put":
        with open(rest[1], "rb") as file:
            connection.send("PUT", bucket, rest[0], file.read())
    elif verb == "put-many":
        for i in range(int(rest[1])):
            connection.send("PUT", bucket, f"{rest[0]}{i:06}", b"%d" % i)
    elif verb == "delete":
        connection.send("DELETE", bucket, rest[0])
    else:
        sys.exit(__doc__)


main()
