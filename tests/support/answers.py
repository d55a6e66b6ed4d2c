"""Prints the embedded model's first candidates for some texts, as JSON.

    python tests/support/answers.py COUNT

Run on two kinds of CPU, and the two outputs compared.
"""

import json
import sys

from builder.model import verify
from support import embedded


def main() -> None:
    """Prints [[tokens, log-probabilities] of each probe]."""
    engine = embedded.engine()
    queries = verify.blanks(embedded.codec(), engine.manifest)

    picked = queries[:: len(queries) // int(sys.argv[1])]
    predicted = engine.predict(picked, 8, False, [])
    print(json.dumps([[row.tokens, row.scores] for (row,) in predicted]))


if __name__ == "__main__":
    main()
