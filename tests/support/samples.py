"""The whole events of tests/events: what AWS sends, with everything in it that we do not read."""

import json
from typing import Any

from support.paths import EVENTS

Event = dict[str, Any]


def sample_event(name: str) -> Event:
    """A fresh copy of one event, for the test to change."""
    event: Event = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    return event
