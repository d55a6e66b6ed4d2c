"""The tests of the page, in a browser."""
