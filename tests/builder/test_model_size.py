"""What does not fit a layer is named before it is built."""

from pathlib import Path
from typing import Final

import pytest

from builder.checkpoint import config
from builder.checkpoint.architecture import Shape
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.hub import Source
from builder.model.__main__ import main
from builder.model.plan import LAYER_ROOM, draw_up, int8_bytes
from fillmask.model import manifest
from support import checkpoints
from support.checkpoints import SMALL

pytestmark = pytest.mark.usefixtures("few_sentences")

# Of public checkpoints: layers, hidden, heads, ffn, positions, vocabulary.
PUBLIC: Final = {
    "bert-base-chinese": (12, 768, 12, 3072, 512, 21128),
    "bge-small-zh-v1.5": (4, 512, 8, 2048, 512, 21128),
    "multilingual-e5-small": (12, 384, 12, 1536, 512, 250037),
    "paraphrase-multilingual-MiniLM-L12-v2": (12, 384, 12, 1536, 512, 250037),
}
TOO_BIG: Final = {
    "bge-large-zh-v1.5": (24, 1024, 16, 4096, 512, 21128),
    "bge-m3": (24, 1024, 16, 4096, 8192, 250002),
    "multilingual-e5-base": (12, 768, 12, 3072, 512, 250002),
}


@pytest.mark.parametrize("name", [*PUBLIC, *TOO_BIG])
def test_public_checkpoints_fit_a_layer_or_do_not(name: str) -> None:
    shape = Shape(*(PUBLIC | TOO_BIG)[name], epsilon=1e-12, activation="gelu")
    assert (int8_bytes(shape) <= LAYER_ROOM) is (name in PUBLIC)


def test_the_estimate_is_what_a_build_takes(tmp_path: Path) -> None:
    shape = SMALL | {"hidden": 256, "ffn": 1024, "size": 2000}
    source = checkpoints.write(tmp_path / "source", **shape)
    out = tmp_path / "out"
    assert main([str(source), "--out", str(out), "--force"]) == 0

    files = ("model.onnx.data", "tokenizer.json")
    taken = sum((out / name).stat().st_size for name in files)
    assert int8_bytes(config.read(source).shape) == pytest.approx(taken, rel=0.08)
    assert {*files} < {*manifest.FILES}


def test_it_is_said_before_the_tensors_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = checkpoints.write(tmp_path / "source", **SMALL)
    path = source / "config.json"
    path.write_text(path.read_text().replace('"vocab_size": 200', '"vocab_size": 3000000'))
    with pytest.raises(CheckpointError, match="does not fit"):
        draw_up(Source(source, "small", None), "embed")
    assert "can be served from a container image (./build.sh image)" in capsys.readouterr().err
