"""Makes tests/golden/unigram/ with sentencepiece, transformers and torch.

    PYTHONPATH=tests python tests/golden/make_unigram.py

tokenizer.json is XLM-R's made small: a Unigram model trained on the calibration texts, with a
short list of characters to fold. vectors.npz has, for each encoder of tests/support/multilingual.py
and each of its texts, token ids, offsets and the mean of the last hidden states, normalised.
"""

import io
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from support import multilingual
from support.multilingual import ENCODERS, FOLDER, TEXTS

DATA: Final = Path(__file__).parents[2] / "layer" / "builder" / "data"
PIECES: Final = 1000
# Code points in hexadecimal, as sentencepiece reads them: what stands for what.
FOLDED: Final = {
    "3000": "20",
    "A0": "20",
    "FB01": "66 69",
    "2460": "31",
    "200B": "",
    "0E33": "E4D E32",
}


def train() -> Any:
    """What sentencepiece makes of the calibration texts, as its own message."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    full_width = {f"{code:X}": f"{code - 0xFEE0:X}" for code in range(0xFF01, 0xFF5F)}
    rules = FOLDER / "rules.tsv"
    rules.write_text("".join(f"{old}\t{new}\n" for old, new in (FOLDED | full_width).items()))

    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter((DATA / "calibration.txt").read_text("utf-8").splitlines()),
        model_writer=trained,
        vocab_size=PIECES,
        character_coverage=0.98,
        hard_vocab_limit=False,
        normalization_rule_tsv=str(rules),
    )
    rules.unlink()
    return sentencepiece_model_pb2.ModelProto.FromString(trained.getvalue())


def write(trained: Any) -> None:
    """tokenizer.json."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers
    from tokenizers.processors import TemplateProcessing

    # XLM-R's order of the control tokens, which is not sentencepiece's.
    pieces = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
    pieces += [(piece.piece, piece.score) for piece in trained.pieces[3:]]
    pieces += [("<mask>", 0.0)]

    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    folding = normalizers.Precompiled(trained.normalizer_spec.precompiled_charsmap)
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([folding, spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True) for token in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")]
    )
    tokenizer.save(str(FOLDER / "tokenizer.json"), pretty=False)


def make() -> dict[str, Any]:
    """The arrays of vectors.npz."""
    import tempfile

    import torch
    import transformers

    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(FOLDER / "tokenizer.json"))
    found = {}
    for name, write_encoder in ENCODERS.items():
        with tempfile.TemporaryDirectory() as folder:
            source = write_encoder(Path(folder))
            kind = json.loads((source / "config.json").read_text())["architectures"][0]
            model = getattr(transformers, kind).from_pretrained(
                source, attn_implementation="eager", add_pooling_layer=False
            )
        for number, text in enumerate(TEXTS):
            inputs = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
            with torch.no_grad():
                mean = model.eval()(inputs["input_ids"]).last_hidden_state[0].mean(0).numpy()
            found[f"ids_{number}"] = inputs["input_ids"][0].numpy()
            found[f"offsets_{number}"] = inputs["offset_mapping"][0].numpy()
            found[f"{name}_{number}"] = mean / np.linalg.norm(mean)
    return found


if __name__ == "__main__":
    multilingual.FOLDER.mkdir(exist_ok=True)
    write(train())
    np.savez_compressed(FOLDER / "vectors.npz", **make())
