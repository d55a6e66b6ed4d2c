"""Every limit on what a request may ask for: one name, one number, one place.

Cost grows with tokens (linear in the number of windows), with masks times vocabulary, and with the
characters of the answer, so each of these is bounded. GET /info publishes the table.
"""

from typing import Any, Final

from fillmask.errors import TooLarge

MAX_TEXTS: Final = 64
MAX_INPUTS: Final = 256  # texts of one embeddings request
MAX_TOP_K: Final = 100
MAX_TARGETS: Final = 100
MAX_CHARACTERS: Final = 10_000  # of one text, in code points
MAX_TOTAL_CHARACTERS: Final = 200_000  # of all texts of one request
MAX_MASKS: Final = 64  # of one text
MAX_TOTAL_MASKS: Final = 512  # of one request
MAX_JOINT_MASKS: Final = 12  # of one text in joint mode: each mask is one more pass of the model
MAX_PIECES: Final = 12  # of one target: each piece is one more pass of the model
MAX_PASSES: Final = (
    2_000  # windows a request may run beyond the first answer: masks x pieces, masks x beam
)
MAX_BODY_BYTES: Final = 2 * 1024 * 1024
MAX_RESULT_BYTES: Final = (
    1023 * 1024
)  # of one message of the result queue; SQS ends at 1 MiB with attributes
MAX_ANSWER_CHARACTERS: Final = (
    1_000_000  # an answer repeats the text once a candidate; Lambda ends at 6 MB
)

TABLE: Final[dict[str, int]] = {
    name.removeprefix("MAX_").lower(): value
    for name, value in dict(globals()).items()
    if name.startswith("MAX_")
}


def check(limit: str, size: int, what: str, **extra: Any) -> None:
    """Raise TooLarge when `size` is over the limit of that name in TABLE."""
    maximum = TABLE[limit]
    if size > maximum:
        raise TooLarge(
            f"{what}: {size} is over the limit {limit} = {maximum}.",
            limit=limit,
            maximum=maximum,
            size=size,
            **extra,
        )
