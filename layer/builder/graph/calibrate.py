"""What the activations of a checkpoint look like, measured in float32 on varied texts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx

from builder.checkpoint.bert import TENSORS
from builder.checkpoint.errors import CheckpointError
from builder.graph.precision import WEIGHT
from fillmask.model.contract import HIDDEN, Query
from fillmask.model.feeds import MAX_RUN_TOKENS, plan_runs
from fillmask.model.manifest import Manifest, Special
from fillmask.model.onnx_engine import OnnxEngine, open_session, session_options
from fillmask.model.text import TextCodec

TEXTS: Final = Path(__file__).parents[1] / "data" / "calibration.txt"


class NormOutput(NamedTuple):
    """A LayerNorm, the linear layers that read its output, and the one whose output it is added to
    as residual.
    """

    norm: str
    readers: tuple[str, ...]
    residual: str


class Activations(NamedTuple):
    """What was measured, [tokens, hidden]: the outputs of LayerNorms by name, and the contexts of
    attention by the linear layer that reads them.
    """

    norms: Mapping[str, npt.NDArray[np.float32]]
    contexts: Mapping[str, npt.NDArray[np.float32]]


def norm_outputs(layers: int) -> Iterator[NormOutput]:
    """Those of all LayerNorms but the last, whose output is the answer."""
    norm = TENSORS.embeddings_norm
    for index in range(layers):
        names = TENSORS.of_layer(index)
        yield NormOutput(norm, (names.query, names.key, names.value), names.attention_output)
        yield NormOutput(names.attention_norm, (names.intermediate,), names.output)
        norm = names.output_norm


def queries(codec: TextCodec, lowercase: bool, special: Special, max_tokens: int) -> list[Query]:
    """The calibration texts and all of them as one, each cut to `max_tokens`; every position is
    looked at.
    """
    lines = TEXTS.read_text(encoding="utf-8").splitlines()
    found = []
    for text in [*lines, "".join(lines)]:
        # The ranges have to cover the token for unknown words too.
        encoded = codec.encode(text, lowercase, split_unknown=False)
        inner = encoded.ids[: max_tokens - 2]
        ids = special.enclose(inner)
        found.append(Query(ids, list(range(len(ids)))))
    return found


def activations(
    folder: Path, manifest: Manifest, layers: int, queries: Sequence[Query]
) -> Activations:
    """Of the float32 model in `folder`. Raises CheckpointError for a checkpoint that computes NaN
    or infinity.
    """
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    norms = [output.norm for output in norm_outputs(layers)]
    readers = [TENSORS.of_layer(index).attention_output for index in range(layers)]
    inputs = product_inputs(model)
    contexts = [inputs[reader] for reader in readers]

    # `hidden` is run along with them, so that the last layer counts in the check.
    outputs = [*norms, *contexts, HIDDEN]
    path = _watched(folder, model, outputs[:-1])
    engine = OnnxEngine(open_session(path, session_options(0)), manifest)
    runs = [
        engine.run_encoder(outputs, [queries[index] for index in run])
        for run in plan_runs(queries, MAX_RUN_TOKENS)
    ]
    by_output = zip(outputs, zip(*runs, strict=True), strict=True)
    found = {name: np.concatenate(pieces) for name, pieces in by_output}

    if not all(np.isfinite(values).all() for values in found.values()):
        raise CheckpointError("The checkpoint computes NaN or infinity: its weights are too large.")
    by_reader = {reader: found[name] for reader, name in zip(readers, contexts, strict=True)}
    return Activations({name: found[name] for name in norms}, by_reader)


def product_inputs(model: onnx.ModelProto) -> dict[str, str]:
    """The tensor that each linear layer of a float32 graph multiplies, by the layer's name."""
    return {
        node.input[1].removesuffix(WEIGHT): node.input[0]
        for node in model.graph.node
        if node.op_type == "MatMul"
    }


def _watched(folder: Path, model: onnx.ModelProto, names: Sequence[str]) -> Path:
    """The model, over the weights of `folder`, with these tensors as further outputs."""
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    path = folder / "watched.onnx"
    path.write_bytes(model.SerializeToString())
    return path
