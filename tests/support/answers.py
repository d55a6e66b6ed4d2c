"""Print the embedded model's first candidates for some texts, as JSON; run on two kinds of CPU and compared.

python tests/support/answers.py COUNT
"""

import json
import sys

from builder.model import verify
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from support.paths import MODEL


def main() -> None:
    """[[tokens, log-probabilities] of each probe]."""
    engine = OnnxEngine.load(MODEL, described := manifest.read(MODEL), threads=1)
    codec = TextCodec.load(MODEL, described)
    queries = verify.blanks(codec, described)
    picked = queries[:: len(queries) // int(sys.argv[1])]
    print(json.dumps([[row.tokens, row.scores] for (row,) in engine.predict(picked, 8, False, [])]))


if __name__ == "__main__":
    main()
