"""How a value lies in the table. Whatever an item looks like, the worst it can be is a miss.

An item has four attributes. Their names are short, because names are billed with every item:

    k  S  key, the table's partition key
    v  B  value
    t  N  epoch second at which the item expires; the table's TTL attribute
    s  N  version of this layout and of the value's; another number is a miss

DynamoDB deletes expired items days late, so `t` is checked on every read.
"""

from typing import Final, TypedDict

SCHEMA: Final = 1
ITEM_BYTES: Final = 400 * 1024  # DynamoDB's limit
ATTRIBUTE_BYTES: Final = 64  # more than the names and the two numbers of an item take
CLOCK_SKEW_SECONDS: Final = 300  # between the hosts that share a table


class Text(TypedDict):
    """A string, as the low-level client has it."""

    S: str


class Number(TypedDict):
    """A number, in decimal digits."""

    N: str


class Binary(TypedDict):
    """Bytes."""

    B: bytes


class Item(TypedDict):
    """An item, as the low-level client takes and gives it."""

    k: Text
    v: Binary
    t: Number
    s: Number


def fits(key: str, value: bytes) -> bool:
    """Whether DynamoDB takes an item of this size."""
    return len(key.encode()) + len(value) + ATTRIBUTE_BYTES <= ITEM_BYTES


def pack(key: str, value: bytes, expires: int) -> Item:
    """The item of a value that expires at an epoch second."""
    return {
        "k": {"S": key},
        "v": {"B": value},
        "t": {"N": str(expires)},
        "s": {"N": str(SCHEMA)},
    }


def unpack(item: Item, now: float, ttl_seconds: int) -> tuple[str, bytes] | None:
    """Key and value of a fresh item; None for anything else that a table may hold."""
    try:
        key, value = item["k"]["S"], item["v"]["B"]
        expires, schema = int(item["t"]["N"]), int(item["s"]["N"])
    except (KeyError, TypeError, ValueError):
        return None

    # An item that expires later than a cache of this TTL would write it is a miss. So a time in
    # milliseconds does not live for ever, and a shorter TTL counts for older items too.
    fresh = now < expires <= now + ttl_seconds + CLOCK_SKEW_SECONDS
    return (key, value) if fresh and schema == SCHEMA else None
