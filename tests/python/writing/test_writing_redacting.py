"""What others read has no secrets in it, and takes no longer for whatever stands in it."""

from __future__ import annotations

import time

import pytest

from tollbench.writing import redacting
from tollbench.writing.redacting import CUT, MOST_TEXT, WITHHELD, harmless

LENGTH, MOST = redacting._LOOKED_AT, redacting._LOOKED_AT_MOST
JSON_WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run --password hunter2 --fast", f"run --password {WITHHELD} --fast"),
        ("run --db-password=hunter2", f"run --db-password={WITHHELD}"),
        ("my-token abcdef", f"my-token {WITHHELD}"),
        ('a --secret "two words" b', f"a --secret {WITHHELD} b"),
        ("--token-file=x", f"--token-file={WITHHELD}"),
        ("api_key: abc, size: 3", f"api_key: {WITHHELD}, size: 3"),
        ("db.password = abc", f"db.password = {WITHHELD}"),
        ('{"cookie": "abc def"}', f'{{"cookie": {WITHHELD}}}'),
        ("author: me, --authors you", "author: me, --authors you"),
        ("https://me:hunter2@host/x", f"https://{WITHHELD}@host/x"),
        ("http://localhost:8080/a@b", "http://localhost:8080/a@b"),
        ("git+ssh://me:a:b@host", f"git+ssh://{WITHHELD}@host"),
        (f"saw {JSON_WEB_TOKEN} there", f"saw {WITHHELD} there"),
        ("ghp_" + 24 * "a" + " AKIA" + 16 * "B", f"{WITHHELD} {WITHHELD}"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\nabc", WITHHELD),
        (f"AKIA{16 * 'B'}-{JSON_WEB_TOKEN}", WITHHELD),
        (f"glpat-{20 * 'b'}-{JSON_WEB_TOKEN} b", f"{WITHHELD} b"),
        ("Authorization: Bearer abcdef.secret and", f"Authorization: {WITHHELD} and"),
        ("curl -H 'authorization: basic YWJj' x", f"curl -H 'authorization: {WITHHELD} x"),
        ("Proxy-Authorization: Token 123 b", f"Proxy-Authorization: {WITHHELD} b"),
        ('Authorization: Digest username="me", response="6629"\nb', f"Authorization: {WITHHELD}\nb"),
        ("run --auth Bearer abcdef b", f"run --auth {WITHHELD} b"),
        ("--authorization=Basic 'a b' c", f"--authorization={WITHHELD} c"),
        ("Authorization: Bearer", f"Authorization: {WITHHELD}"),
        ("a bearer token of the basic kind", "a bearer token of the basic kind"),
        (r"{\"password\": \"hunter2\", \"a\": 1}", rf"{{\"password\": {WITHHELD}, \"a\": 1}}"),
        (r"{\\\"token\\\":\\\"a b\\\"}", rf"{{\\\"token\\\":{WITHHELD}}}"),
        (r'{"password": "two \"words\" more", "a": 1}', f'{{"password": {WITHHELD}, "a": 1}}'),
        (r'password="two words\" b', f"password={WITHHELD} b"),
        ("a --fast x.y=z -O2 a-b c", "a --fast x.y=z -O2 a-b c"),
    ],
)
def test_what_has_the_form_of_a_secret_is_withheld(text: str, told: str) -> None:
    assert harmless(text, ()) == told


@pytest.mark.parametrize(
    "piece",
    [
        "-", "secret", "-secret", "-secret ", "a.", "a.secret", "secret ", "eyJ-", "eyJaaaaaaaa-",
        "eyJaaaaaaaa.", "://", "a://:", ":", "ghp_", "glpat-", "sk-a-", "a-", "'", '"',
        "secret='", ' secret="', " ", "=",
        "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN A", "AKIA", "token:", "token=-token ", "x",
        "\x00", "\n", "token=\\\"", "token=\"\\", "token=\"\\\"", "token='\"", "\\", "token: bearer ",
        "bearer ", "token: digest ", "token=digest\n", "token: basic\t", "secret\\", "eyJaaaaaaaa.aaaaaaaa.",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "a://", "secret", "--secret "])
def test_nobody_makes_a_text_that_takes_long(piece: str, before: str) -> None:
    """Eight times the text takes eight times as long, and not 64 times."""

    def took_ns(length: int) -> int:
        text = (before + piece * length)[:length]
        found = []
        for _ in range(5):
            began = time.process_time_ns()
            harmless([text] * 4, ())
            found.append(time.process_time_ns() - began)
        return min(found)

    assert took_ns(LENGTH) < 24 * max(took_ns(LENGTH // 8), 20_000)


def test_a_long_text_takes_no_longer_than_what_is_looked_at() -> None:
    assert len(harmless("-" * 100 * LENGTH, ())) == MOST_TEXT
    assert harmless("word " * LENGTH, ()) == ("word " * LENGTH)[:MOST_TEXT]


@pytest.mark.parametrize("length", [7_000, 9_000, 20_000, 36_000])
def test_what_follows_a_long_key_is_told(length: int) -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{'k' * length}\n-----END PRIVATE KEY-----\n"
    error = "error: no such file\n" + "note: looked for here\n" * 1000
    assert harmless(key + error, ()) == f"{WITHHELD}\n{error}"[:MOST_TEXT]


def test_what_is_all_cut_says_so() -> None:
    assert harmless("-----BEGIN PRIVATE KEY-----\n" + "k" * 2 * MOST, ()) == CUT


SECRETS = [
    f'token="{"words and " * 400}"',
    f"--password '{'words and ' * 400}'",
    f"https://me:{'p' * 4000}@host",
    f"eyJhbGciOiJIUzI1NiJ9.{'e' * 4000}.{'s' * 40}",
    f"-----BEGIN PRIVATE KEY-----\n{'k' * 3000}\n-----END PRIVATE KEY-----",
    "ghp_" + 30 * "a",
    "AKIA" + 16 * "B",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(("withheld", "length"), [(0, LENGTH), (2, LENGTH), (9, MOST), (38, MOST)])
def test_a_secret_that_is_cut_in_two_does_not_show(secret: str, withheld: int, length: int) -> None:
    """Also where what stood before it became short, so that the cut comes near the beginning."""
    key = f"-----BEGIN PRIVATE KEY-----\n{'k' * 1200}\n-----END PRIVATE KEY-----\n"
    for at in range(1, len(secret), max(1, len(secret) // 20)):
        before = key * withheld
        before += "." * (length - at - len(before) - 1) + " "
        told = harmless(before + secret, ())
        assert told.removesuffix(CUT).strip(f". \n{WITHHELD}") == ""
        assert len(told) <= MOST_TEXT
