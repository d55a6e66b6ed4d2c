"""The fixtures of the page's tests: a browser, and the application that it opens."""

from support.browser import browser, origin, tab, window

__all__ = ["browser", "origin", "tab", "window"]
