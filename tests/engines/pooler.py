"""A small pooler in front of a server: clients get sessions of the server of their own, or share one by transactions.

It speaks as much of the protocol as is needed: it logs in for the client, counts answers by ReadyForQuery, and gives
every client a session number of its own, as poolers do.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections import deque
from contextlib import suppress

import psycopg
from servers import PASSWORD


def read(link: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = link.recv(size - len(found))
        if not piece:
            raise EOFError
        found += piece
    return found


def message(link: socket.socket) -> tuple[bytes, bytes]:
    kind = read(link, 1)
    (size,) = struct.unpack("!I", read(link, 4))
    return kind, read(link, size - 4)


def written(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content


class Pooler:
    """Listens on a port of its own until the block ends."""

    def __init__(self, server: int, *, shared: int) -> None:
        """``shared``: how many sessions all clients share, each transaction the next one; 0 for one each."""
        self._server, self._shares = server, shared
        self._shared: deque[socket.socket] = deque()
        self._free = threading.Condition()
        self._links: list[object] = []

    def __enter__(self) -> Pooler:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        for link in self._links:
            with suppress(Exception):
                link.close()  # type: ignore[attr-defined]

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _open(self) -> socket.socket:
        """A session of the server, already logged in."""
        link = psycopg.connect(
            host="127.0.0.1",
            port=self._server,
            user="spender",
            password=PASSWORD,
            dbname="postgres",
            sslmode="disable",
        )
        self._links.append(link)
        found = socket.socket(fileno=os.dup(link.fileno()))
        found.setblocking(True)
        return found

    def _serve(self, client: socket.socket) -> None:
        with suppress(EOFError, OSError), client:
            (size,) = struct.unpack("!I", read(client, 4))
            read(client, size - 4)
            number = struct.pack("!II", os.getpid(), 1)
            client.sendall(
                written(b"R", struct.pack("!I", 0))
                + written(b"S", b"client_encoding\0UTF8\0")
                + written(b"S", b"server_version\0" + b"15.0\0")
                + written(b"K", number)
                + written(b"Z", b"I")
            )
            own = None if self._shares else self._open()
            while True:
                self._transaction(client, own)

    def _transaction(self, client: socket.socket, own: socket.socket | None) -> None:
        """Pass messages on until the server is idle again."""
        asked = message(client)
        if asked[0] == b"X":
            raise EOFError
        server = own or self._taken()
        try:
            while True:
                server.sendall(written(*asked))
                if asked[0] in (b"Q", b"S"):
                    answer = (b"", b"")
                    while answer[0] != b"Z":
                        answer = message(server)
                        client.sendall(written(*answer))
                    if answer[1] == b"I":
                        return
                asked = message(client)
        finally:
            if own is None:
                self._give_back(server)

    def _taken(self) -> socket.socket:
        """The session that has waited longest."""
        with self._free:
            if len(self._links) < self._shares:
                return self._open()
            self._free.wait_for(lambda: self._shared)
            return self._shared.popleft()

    def _give_back(self, server: socket.socket) -> None:
        with self._free:
            self._shared.append(server)
            self._free.notify()
