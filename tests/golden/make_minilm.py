"""Makes minilm.npz with transformers and torch: embeddings of all-MiniLM-L6-v2.

    python tests/golden/make_minilm.py CHECKPOINT tests/golden/minilm.npz

As sentence-transformers defines them, for the texts of embed_texts.json: the mean of the last
hidden states over all tokens, [CLS] and [SEP] included, normalised. In float32 and one text at a
time, so that nothing is padded.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def make(checkpoint: Path) -> Any:
    """[texts, hidden]."""
    import torch
    from transformers import BertModel, BertTokenizer

    texts = json.loads((Path(__file__).parent / "embed_texts.json").read_text(encoding="utf-8"))
    tokenizer = BertTokenizer.from_pretrained(checkpoint)
    model = BertModel.from_pretrained(checkpoint, attn_implementation="eager").eval()

    rows = []
    with torch.no_grad():
        for text in texts:
            inputs = tokenizer(
                text, return_tensors="pt", padding=False, truncation=True, max_length=256
            )
            mean = model(**inputs).last_hidden_state[0].mean(0).numpy()
            rows.append(mean / np.linalg.norm(mean))
    return np.array(rows)


if __name__ == "__main__":
    np.savez_compressed(sys.argv[2], embeddings=make(Path(sys.argv[1])))
