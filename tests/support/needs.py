"""What a test needs of the machine: where it is missing the test is skipped, and in CI it fails."""

import os
from typing import NoReturn

import pytest


def unavailable(reason: str) -> NoReturn:
    """End the running test for `reason`, half a sentence: skipped, or failed in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"in CI this must be had, but {reason}", pytrace=False)
    pytest.skip(reason)
