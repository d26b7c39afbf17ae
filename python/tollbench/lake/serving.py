"""A read-only server on loopback: GET alone, for a browser on this machine, and nothing that it could run.

The Host header is checked, so that no other site can have a browser ask here under a name of its own (DNS
rebinding). Nothing of a request but its address is used, and that is never a path of the file system.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from tollbench.errors import TollError

LOOPBACK: Final = "127.0.0.1"
_MOST_ADDRESS: Final = 4096
_MOST_FIELDS: Final = 16
_MOST_AT_ONCE: Final = 2  # questions: each reads the lake, and takes memory for it
_PATIENCE_S: Final = 10.0  # for a request that does not go on
# Path and what is asked -> the page, None where there is none. Raises TollError where the lake cannot answer.
Answering = Callable[[str, Mapping[str, str]], str | None]
Refusing = Callable[[str, str], str]  # an error's two sentences -> its page


class LakeServer(ThreadingHTTPServer):
    """Listens on loopback alone."""

    daemon_threads = True

    def __init__(self, port: int, policy: str, answering: Answering, refusing: Refusing) -> None:
        """Raises TollError where the port is taken or not allowed."""
        self.policy, self.answering, self.refusing = policy, answering, refusing
        self.working = threading.BoundedSemaphore(_MOST_AT_ONCE)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else "there is no such port"
            raise TollError(
                f"cannot listen on {LOOPBACK}:{port}: {why}", "choose another one: --port N"
            ) from None

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    @property
    def hosts(self) -> frozenset[str]:
        """What a Host header may say."""
        return frozenset(f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost"))


class _Handler(BaseHTTPRequestHandler):
    server: LakeServer
    server_version, sys_version = "toll", ""
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, *_: object) -> None:
        """Nothing: what is asked is nobody's business, and standard error is for remarks."""

    def _answer(self, *, body: bool) -> None:
        status, page = self._page()
        content = page.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        if body:
            self.wfile.write(content)
        self.close_connection = True

    def _page(self) -> tuple[HTTPStatus, str]:
        refusing = self.server.refusing
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            step = f"open {self.server.address}"
            return HTTPStatus.MISDIRECTED_REQUEST, refusing(
                "this server answers to its own address alone", step
            )
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return HTTPStatus.FORBIDDEN, refusing(
                "another site asked for this page", f"open {self.server.address}"
            )
        if len(self.path) > _MOST_ADDRESS:
            return HTTPStatus.REQUEST_URI_TOO_LONG, refusing("the address is too long", "follow a link")
        try:
            parts = urlsplit(self.path)
            asked = dict(parse_qsl(parts.query, max_num_fields=_MOST_FIELDS))
        except ValueError:
            return HTTPStatus.BAD_REQUEST, refusing("the address cannot be read", "follow a link")
        try:
            with self.server.working:
                page = self.server.answering(parts.path, asked)
        except TollError as error:
            return HTTPStatus.NOT_FOUND, refusing(error.what, error.next_step)
        except Exception as error:  # a bug: who asked has an answer, and the others go on
            what = f"toll could not answer: {type(error).__name__}: {error}"
            return HTTPStatus.INTERNAL_SERVER_ERROR, refusing(what, "this is a bug: report it with this page")
        if page is None:
            return HTTPStatus.NOT_FOUND, refusing("there is no such page", f"open {self.server.address}")
        return HTTPStatus.OK, page
