"""Requests: what they may hold, and the strict reader that checks them."""
