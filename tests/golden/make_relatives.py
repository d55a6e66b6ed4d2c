"""Makes relatives.npz with transformers and torch: small random checkpoints of BERT's relatives.

    PYTHONPATH=tests python tests/golden/make_relatives.py tests/golden/relatives.npz

For each checkpoint and each text of tests/support/relatives.py, the log-probabilities at the
positions asked for: float32 [positions, vocabulary].
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from support.relatives import QUERIES, RELATIVES, ernie


def make() -> dict[str, Any]:
    """Arrays by checkpoint and number of the text."""
    found = {}
    for name, write in RELATIVES.items():
        with tempfile.TemporaryDirectory() as folder:
            # Its tables are ERNIE's whatever its name is.
            source = (ernie if name == "ernie_as_bert" else write)(Path(folder))
            for number, scores in enumerate(_scores(source)):
                found[f"{name}_{number}"] = scores
    return found


def _scores(source: Path) -> list[Any]:
    import torch
    import transformers

    config = json.loads((source / "config.json").read_text())
    kind = getattr(transformers, config["architectures"][0])
    model, loading = kind.from_pretrained(
        source, attn_implementation="eager", output_loading_info=True
    )
    assert not loading["missing_keys"] and not loading["unexpected_keys"], loading

    found = []
    with torch.no_grad():
        for ids, positions in QUERIES:
            logits = model.eval()(torch.tensor([ids])).logits[0, positions]
            found.append(torch.log_softmax(logits, -1).numpy())
    return found


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **make())
