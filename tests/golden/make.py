"""Makes golden.npz with transformers and torch, the outside oracle.

    python tests/golden/make.py layer/builder/default-model tests/golden/golden.npz

Neither is part of the suite's environment. For each text of texts.json: log-probabilities
[masks, vocabulary] at its masks, and the mean of the last hidden states over the text's tokens,
normalised. In float32 and one text at a time, so that nothing is padded.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def make(checkpoint: Path) -> dict[str, Any]:
    """Arrays by name: logp_N and embedding_N for text N."""
    import torch
    from transformers import BertForMaskedLM, BertTokenizer

    texts = json.loads((Path(__file__).parent / "texts.json").read_text(encoding="utf-8"))
    tokenizer = BertTokenizer.from_pretrained(checkpoint)
    model = BertForMaskedLM.from_pretrained(checkpoint, attn_implementation="eager").eval()

    arrays = {}
    with torch.no_grad():
        for number, text in enumerate(texts):
            inputs = tokenizer(text, return_tensors="pt")
            output = model(**inputs, output_hidden_states=True)

            masks = inputs["input_ids"][0] == tokenizer.mask_token_id
            arrays[f"logp_{number}"] = output.logits[0][masks].log_softmax(-1).numpy()

            mean = output.hidden_states[-1][0, 1:-1].mean(0).numpy()
            arrays[f"embedding_{number}"] = mean / np.linalg.norm(mean)
    return arrays


if __name__ == "__main__":
    np.savez_compressed(sys.argv[2], **make(Path(sys.argv[1])))
