"""Helpers and servers of the tests."""
