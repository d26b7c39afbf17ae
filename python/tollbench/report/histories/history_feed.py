"""The changes of a history as an Atom feed (RFC 4287): an entry a change, which keeps its name."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from tollbench.history.histories import Histories
from tollbench.report.histories import history_lines

_MOST = 100  # entries
_SPACE = uuid.UUID("7c2f4f38-6a7f-5b0e-9a55-0d7f1f6c8f10")  # drawn once: of names made from changes
_NO_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}  # letters that no document may hold, nor escape
_NEVER = "1970-01-01T00:00:00Z"


def render(found: Histories, own: str = "", page: str = "") -> str:
    """The feed. A change is known by its history, its benchmark, direction and commit.

    `own` and `page` are where the feed and the page of the history lie, relative to the feed.
    """
    entries = []
    updated = _NEVER
    pairs = zip(found.changes, history_lines.change_lines(found), strict=True)
    for change, line in sorted(pairs, key=lambda pair: pair[0].found_utc, reverse=True)[:_MOST]:
        when = _instant(change.found_utc)
        updated = max(updated, when)
        where = f" It came {line.where}: {line.range}." if line.where else ""
        told = (
            f"{line.benchmark} is {line.word} by {line.size} ({line.span}) since {line.commit}"
            f" ({line.what}). Certainty {line.certainty}.{where}"
        )
        entries += [
            "<entry>",
            f"<id>urn:uuid:{_name(found, change.benchmark, change.commit, line.word)}</id>",
            f"<title>{escape(f'{line.benchmark}: {line.word} by {line.size}')}</title>",
            f"<updated>{when}</updated>",
            f"<author><name>{escape(line.author) or 'unknown'}</name></author>",
            *_links(page),
            f'<content type="text">{escape(told)}</content>',
            "</entry>",
        ]
    feed = uuid.uuid5(_SPACE, found.first_session)
    head = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom"><generator>toll history</generator>',
        f"<id>urn:uuid:{feed}</id>",
        "<title>Changes of benchmarks</title>",
        f"<updated>{updated}</updated>",
        "<author><name>toll history</name></author>",
        *([f'<link rel="self" type="application/atom+xml" href={quoteattr(quote(own))}/>'] if own else []),
        *_links(page),
    ]
    return "\n".join([*head, *entries, "</feed>"]).translate(_NO_XML) + "\n"


def _links(page: str) -> list[str]:
    return [f'<link rel="alternate" type="text/html" href={quoteattr(quote(page))}/>'] if page else []


def _name(found: Histories, benchmark: str, commit: str, word: str) -> uuid.UUID:
    """Another one in another folder: two histories may tell the same change, and are read side by side."""
    return uuid.uuid5(_SPACE, "\0".join((found.first_session, benchmark, commit, word)))


def _instant(utc: str) -> str:
    """To the second and in UTC, as all instants of the feed, so that they sort."""
    try:
        return datetime.fromisoformat(utc).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return _NEVER
