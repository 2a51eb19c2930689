"""A node behind a proxy that can make its bytes trickle, or damage them."""

import json
import socket
import threading
import time

import pyarrow.flight as flight


class Trickle:
    """Listens at `host` on the flight and, if `bulk`, the bulk port of a node of 127.0.0.1, and
    hands on what is said. While `rate` is set, what the node says comes at so many bytes a second.
    Of the larger pieces of what is said over the bulk channel, so many as `flips` says have a bit
    flipped."""

    def __init__(self, node, host="127.0.0.2", bulk=True):
        self.rate = None
        self.slowed = 0  # bytes
        self.flips = {"answers": 0, "questions": 0}
        self.flipped = 0
        self._lock = threading.Lock()
        self._ended = False
        port = int(node.flight.rsplit(":", 1)[1])
        with flight.connect(f"grpc://{node.flight}") as client:
            answer = json.loads(next(iter(client.do_action("bulk"))).body.to_pybytes())
        self._bulk_port = answer["port"]
        ports = (port, self._bulk_port) if bulk else (port,)
        self._listeners = [socket.create_server((host, at)) for at in ports]
        for listener in self._listeners:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        port = listener.getsockname()[1]
        while not self._ended:
            try:
                here, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", port))
            except OSError:
                return
            # So that little is on its way past the proxy.
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            for pair in ((here, there, False), (there, here, True)):
                threading.Thread(target=self._pump, args=(*pair, port == self._bulk_port),
                                 daemon=True).start()

    def _damaged(self, data, kind):
        """A bit in the last byte: of a piece this large, that is no header."""
        with self._lock:
            if not self.flips[kind] or len(data) < 1 << 10:
                return data
            self.flips[kind] -= 1
            self.flipped += 1
        return data[:-1] + bytes([data[-1] ^ 0x10])

    def _pump(self, source, target, answers, bulk):
        try:
            while data := source.recv(1 << 16):
                if bulk:
                    data = self._damaged(data, "answers" if answers else "questions")
                if answers and self.rate:
                    self._slowly(data, target)
                else:
                    target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _slowly(self, data, target):
        while data:
            rate = self.rate or 1 << 30
            piece, data = data[:max(rate // 50, 1)], data[max(rate // 50, 1):]
            target.sendall(piece)
            self.slowed += len(piece)
            time.sleep(len(piece) / rate)

    def close(self):
        self._ended, self.rate = True, None
        for listener in self._listeners:
            listener.close()
