"""What stands packed in a page."""

from __future__ import annotations

import json
import re
from typing import Any

from matching import matched
from tollbench.report import embedded


def block(page: str, name: str) -> str:
    """The packed text of this name, as it stands in the page."""
    return matched(rf'<script type="text/plain" id="{name}">(.*?)</script>', page).group(1)


def data_of(page: str) -> dict[str, Any]:
    """What the page's script draws."""
    found: dict[str, Any] = json.loads(embedded.unpacked(block(page, "data")))
    return found


def with_all_unpacked(page: str) -> str:
    """The page with what stands packed in it as it was: another zlib packs the same text into other bytes."""
    return re.sub(
        r'(<script type="text/plain" id="\w+">)(.*?)(?=</script>)',
        lambda found: found[1] + embedded.unpacked(found[2]),
        page,
    )
