"""Makes untied.npz: what transformers 5 answers with a decoder that has a matrix and a bias.

python tests/golden/make_untied.py   (with torch and transformers; PYTHONPATH=tests)
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForMaskedLM

from support.untied import IDS, MASK_AT, write

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        model = AutoModelForMaskedLM.from_pretrained(write(Path(folder))).eval()
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([IDS])).logits[0, MASK_AT]
        scores = torch.log_softmax(logits, dim=-1).numpy()
    np.savez_compressed(Path(__file__).with_name("untied.npz"), scores=scores.astype(np.float32))
