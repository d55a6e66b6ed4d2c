"""Every limit on what a request may ask for: one name, one number, one place.

Cost grows with the tokens (in proportion to the number of windows), with masks times vocabulary,
and with the characters of the answer, so each of these is bounded. GET /info publishes the table.
"""

from typing import Any, Final

from fillmask.errors import TooLarge

# Of a request.
MAX_TEXTS: Final = 64
MAX_INPUTS: Final = 256  # texts of an embeddings request
MAX_TOP_K: Final = 100
MAX_TARGETS: Final = 100
MAX_TARGET_CHARACTERS: Final = 100  # of one target
MAX_CHARACTERS: Final = 10_000  # of one text, in code points
MAX_TOTAL_CHARACTERS: Final = 200_000  # of all its texts
MAX_MASKS: Final = 64  # of one text
MAX_TOTAL_MASKS: Final = 512  # of all its texts

# Of the work. Each mask in joint mode, and each piece of a target, is one more pass of the model.
MAX_JOINT_MASKS: Final = 12  # of one text
MAX_PIECES: Final = 12  # of one target
MAX_PASSES: Final = 2_000  # beyond the first: masks times pieces, and masks times beam width

# Of what comes and goes. An answer repeats the text once per candidate. Its characters are counted
# before it is computed; its bytes when it leaves, as Lambda's runtime encodes them.
MAX_BODY_BYTES: Final = 2 * 1024 * 1024
MAX_RESULT_BYTES: Final = 1023 * 1024  # of a result message; with attributes, SQS ends at 1 MiB
MAX_ANSWER_CHARACTERS: Final = 1_000_000  # of its sequences, targets and unknown stretches
MAX_ANSWER_BYTES: Final = 6 * 1024 * 1024  # Lambda's own limit of a response
MAX_ALB_ANSWER_BYTES: Final = 1_000_000  # a load balancer's, for what Lambda hands it

# By the names that errors and GET /info use: "texts", "top_k", ...
TABLE: Final[dict[str, int]] = {
    name.removeprefix("MAX_").lower(): value
    for name, value in dict(globals()).items()
    if name.startswith("MAX_")
}


def check(limit: str, size: int, what: str, **extra: Any) -> None:
    """Raises TooLarge when `size` is over the limit of that name in TABLE."""
    maximum = TABLE[limit]

    if size > maximum:
        raise TooLarge(
            f"{what}: {size} is over the limit {limit} = {maximum}.",
            limit=limit,
            maximum=maximum,
            size=size,
            **extra,
        )
