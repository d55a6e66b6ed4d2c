"""The page at /: page.html, and headers that let it run its own script and style and nothing else.

The file is one piece and needs no build step. Its Content-Security-Policy is computed from what it
holds, so that an edit cannot leave the two apart. Knows nothing of FastAPI; app.py sends it.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("page.html")


def load(path: Path = PAGE) -> tuple[bytes, dict[str, str]]:
    """The page's bytes and its headers."""
    content = path.read_bytes()
    return content, {
        "content-security-policy": policy(content),
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }


def policy(content: bytes) -> str:
    """The strictest policy under which the page works.

    Its own inline blocks by their hash, requests to its own origin, images from data: (the icon),
    and no way to make markup out of text.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(content, b'script')}",
            f"style-src {_hashes(content, b'style')}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hashes(content: bytes, tag: bytes) -> str:
    """Sources for every inline block of `tag`; browsers hash exactly the bytes between the tags."""
    blocks = re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), content, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(block).digest()).decode() for block in blocks)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
