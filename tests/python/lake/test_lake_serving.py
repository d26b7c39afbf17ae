"""The read-only server: loopback, GET, its own Host alone; pages without script, texts that stay texts."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_lakes import added, run_of
from made_runs import Made

from tollbench.cli.serving_lake import server
from tollbench.errors import TollError
from tollbench.lake.lake_folder import LakeFolder
from tollbench.lake.serving import LakeServer

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeServer]:
    folder = tmp_path_factory.mktemp("served")
    lake = LakeFolder.make(folder / "lake")
    for number in range(3):
        cases = [Made("quick", [10.0] * 8), Made("slow", [20.0] * 8), Made(HOSTILE, [30.0] * 8)]
        added(lake, run_of(folder, number, cases), host=f"{HOSTILE}{number}")
    with server(str(lake.root), 0) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def asked(
    served: LakeServer, path: str, method: str = "GET", **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


PAGES = {
    "/": "3 runs of 3 machines",
    "/cases?workload=tasks/made": "slow",
    "/machines?case=tasks/made/slow&environment=host": "on 3 of 3 machines",
    "/differ?workload=tasks/made": "verdicts differ",
}


@pytest.mark.parametrize("path", PAGES)
def test_pages_answer_without_anything_that_could_run(served: LakeServer, path: str) -> None:
    status, page, headers = asked(served, path)
    assert status == 200
    assert PAGES[path] in page
    assert "<script" not in page
    assert HOSTILE not in page
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


def test_links_lead_from_the_runs_to_a_trend(served: LakeServer) -> None:
    import html
    import re

    path, seen = "/", []
    for wanted in ("/cases", "/machines", "/trend"):
        status, page, _ = asked(served, path)
        assert status == 200
        path = next(
            html.unescape(link) for link in re.findall(r'href="([^"]+)"', page) if link.startswith(wanted)
        )
        seen.append(path)
    status, page, _ = asked(served, path)
    assert status == 200, seen
    assert "1 run of" in page


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"])
def test_nothing_but_get(served: LakeServer, method: str) -> None:
    assert asked(served, "/", method)[0] == 501


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:80", "127.0.0.1", "localhost:1", "", "127.0.0.1.nip.io"]
)
def test_another_name_is_not_answered(served: LakeServer, host: str) -> None:
    status, page, _ = asked(served, "/", Host=host)
    assert status == 421
    assert "runs of" not in page


def test_its_own_names_are(served: LakeServer) -> None:
    for name in ("127.0.0.1", "localhost", "LocalHost"):
        assert asked(served, "/", Host=f"{name}:{served.server_port}")[0] == 200


def test_another_site_that_asks_is_refused(served: LakeServer) -> None:
    assert asked(served, "/", Sec_Fetch_Site="cross-site")[0] == 403
    assert asked(served, "/", Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "/../../etc/passwd", "//etc/passwd", "/nothing", "/machines",
        "/machines?case=../../x/y",
        "/machines?case=tasks/made/nobody", "/cases?workload=%00", f"/cases?workload={'x/y' * 900}",
        "/trend?case=tasks/made/slow", "/machines?case=tasks/made/slow&parameters=x",
        "/machines?case=tasks/made/slow&parameters=n%3D--5", "/?" + "a=1&" * 50,
    ],
)  # fmt: skip
def test_what_it_does_not_have_is_a_page_that_says_so(served: LakeServer, path: str) -> None:
    status, page, headers = asked(served, path)
    assert status in (400, 404)
    assert "Traceback" not in page
    assert headers["Content-Security-Policy"]


def test_an_address_without_end_is_refused(served: LakeServer) -> None:
    assert asked(served, "/" + "x" * 5000)[0] == 414


def test_a_bug_is_a_page_and_the_server_goes_on(served: LakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise KeyError("of all things")

    monkeypatch.setattr("tollbench.cli.serving_lake._runs", broken)
    status, page, _ = asked(served, "/")
    assert status == 500
    assert "this is a bug" in page
    monkeypatch.undo()
    assert asked(served, "/")[0] == 200


def test_a_head_has_no_body(served: LakeServer) -> None:
    status, page, headers = asked(served, "/", "HEAD")
    assert (status, page) == (200, "")
    assert int(headers["Content-Length"]) > 100


def test_it_listens_on_loopback_alone_and_a_port_that_is_taken_is_named(
    served: LakeServer, tmp_path: Path
) -> None:
    assert served.server_address[0] == "127.0.0.1"
    LakeFolder.make(tmp_path / "lake")
    with pytest.raises(TollError, match=r"cannot listen on 127\.0\.0\.1"):
        server(str(tmp_path / "lake"), served.server_port)
