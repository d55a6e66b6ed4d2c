"""The function with one more event, which tells what it has loaded; put beside handler.py by the tests."""

import sys
from typing import Any

import handler as real


def handler(event: Any, context: Any) -> Any:
    """{"probe": "modules"}: module name -> its file, or null for a built-in one."""
    if event == {"probe": "modules"}:
        return {
            name: getattr(module, "__file__", None) for name, module in sorted(sys.modules.items())
        }
    return real.handler(event, context)
