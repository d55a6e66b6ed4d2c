"""Pair-safe INT8, the precision that ships.

Weights are INT8, symmetric, with one scale per output channel. Activations are unsigned 8 bit.
Those of a LayerNorm have a constant scale where calibrate.py found one that is fine enough; one
operator then multiplies, undoes the scale and adds the bias. All others have a scale per row
(token), computed at run time. Either way a text's answer cannot depend on its batch mates.

Pair-safe: without VNNI, x86 multiplies u8 x s8 in pairs and saturates their sum at 16 bits. With
|w0 + w1| <= 128 for neighbouring inputs (2i, 2i+1), 255 * 128 stays within 32,767: nothing can
saturate, and a CPU with AVX2 gives the same integers as one with AVX-512 VNNI.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from builder.checkpoint.tensors import Array
from builder.graph.nodes import CONTRIB, Writer
from builder.graph.precision import Rows

WEIGHT: Final = ".int8"  # ends the name of every matrix of multiply()
LEVELS: Final = 127
ZERO_POINT: Final = 128  # of values of either sign
# Of values after an activation: GELU goes no lower than -0.17, so most levels lie above 0.
LOW_ZERO_POINT: Final = 24
TINY: Final = 1e-12  # the smallest scale, so that rows and channels of zeros divide by something
BLOCK: Final = 32  # values of one scale; of MatMulNBits' sizes the finest but 16


class PairSafeInt8:
    """Pair-safe weights, one scale per channel, and one 8-bit blocked copy of the embedding table.

    By the names of LayerNorms, `peaks` has the largest magnitude of those outputs that take a
    constant scale, and `scales` what each channel [hidden] of an output is divided by before that.
    """

    def __init__(
        self, peaks: Mapping[str, float], scales: Mapping[str, Array] = MappingProxyType({})
    ) -> None:
        self._peaks = peaks
        self._scales = scales
        self._widths: dict[str, int] = {}  # of the tables, without what fills their last blocks

    def prepare(self, w: Writer, x: str, *, floor: float | None = None) -> Rows:
        """u8; with a known floor nearly all 255 levels serve."""
        scaled = self._scale_channels(w, x)
        if x in self._peaks:
            scale = w.number(f"{x}.step", self._peaks[x] / LEVELS)
            point = _zero_point(w, ZERO_POINT)
            return Rows(w.op("QuantizeLinear", scaled, scale, point), scale, point)

        zero = ZERO_POINT if floor is None else LOW_ZERO_POINT
        row_scales = _row_scales(w, scaled, zero, floor)
        one, point = w.number("one", 1), _zero_point(w, zero)
        steps = w.op("Div", scaled, row_scales)
        return Rows(w.op("QuantizeLinear", steps, one, point), one, point, row_scales)

    def _scale_channels(self, w: Writer, x: str) -> str:
        if x not in self._scales:
            return x
        factors = (1 / self._scales[x]).astype(np.float32)
        return w.op("Mul", x, w.constant(f"{x}.factors", factors))

    def multiply(self, w: Writer, x: Rows, name: str, weight: Array, bias: Array) -> str:
        """Integer product, then scale and bias in float32."""
        values, scales = pair_safe(weight)
        shift = w.constant(f"{name}.bias", bias)
        product = w.op(
            "MatMulIntegerToFloat",
            x.values,
            w.constant(name + WEIGHT, values),
            x.scale,
            w.constant(f"{name}.scales", scales),
            x.zero_point,
            "",  # the weights' zero point: they are symmetric
            "" if x.row_scales else shift,
            domain=CONTRIB,
        )
        if not x.row_scales:
            return product
        return w.op("Add", w.op("Mul", product, x.row_scales), shift)

    def multiply_finely(self, w: Writer, x: str, name: str, weight: Array, bias: Array) -> str:
        """Blocks of one scale each along K. For many rows it takes longer than `multiply`."""
        self._store_blocks(w, name, weight.T)
        return self._multiply_blocks(w, name, x, bias)

    def store_table(self, w: Writer, name: str, weight: Array) -> None:
        """Blocks of one scale each along the hidden axis: [V, blocks, size], as in MatMulNBits."""
        self._store_blocks(w, name, weight)

    def look_up(self, w: Writer, name: str, ids: str) -> str:
        """Gathers the blocks of a row and undoes their scale."""
        blocks = w.op("Gather", f"{name}.blocks", ids, axis=0)
        values = w.op("Cast", blocks, to=TensorProto.FLOAT)
        zero = w.number("block_zero", ZERO_POINT)

        scales = w.op("Gather", f"{name}.block_scales", ids, axis=0)
        scales = w.op("Unsqueeze", scales, w.integers("last_axis", -1))
        rows = w.op("Mul", w.op("Sub", values, zero), scales)

        _, count, size = w.initializers[f"{name}.blocks"].dims
        rows = w.op("Reshape", rows, w.integers("table_rows", -1, count * size))
        width = self._widths[name]
        if width == count * size:
            return rows
        start, end, axis = (w.integers(f"table_{at}", at) for at in (0, width, 1))
        return w.op("Slice", rows, start, end, axis)

    def project(self, w: Writer, name: str, x: str, bias: Array) -> str:
        """The integer product of x with the stored blocks."""
        return self._multiply_blocks(w, name, x, bias)

    def _store_blocks(self, w: Writer, name: str, weight: Array) -> None:
        values, scales = blocked(weight)
        self._widths[name] = weight.shape[1]
        w.constant(f"{name}.blocks", values)
        w.constant(f"{name}.block_scales", scales)

    def _multiply_blocks(self, w: Writer, name: str, x: str, bias: Array) -> str:
        """MatMulNBits, INT8 accumulation (accuracy level 4): x [M, K] times a stored [O, K].

        Its kernel for an odd last row rounds differently from the one for row pairs, so callers
        pass an even number of rows.
        """
        return w.op(
            "MatMulNBits",
            x,
            f"{name}.blocks",
            f"{name}.block_scales",
            "",
            "",
            w.constant(f"{name}.bias", bias),
            domain=CONTRIB,
            K=self._widths[name],
            N=w.initializers[f"{name}.blocks"].dims[0],
            bits=8,
            block_size=BLOCK,
            accuracy_level=4,
        )


def _row_scales(w: Writer, x: str, zero: int, floor: float | None) -> str:
    """A scale [N, 1] per row of x, from its own largest value (or magnitude, where there is no
    floor).
    """
    axis = w.integers("last_axis", -1)
    least = TINY if floor is None else max(-floor / LOW_ZERO_POINT, TINY)

    size = w.op("Abs", x) if floor is None else x
    top = w.op("ReduceMax", size, axis, keepdims=1)
    step = w.op("Mul", top, w.number(f"step_{zero}", 1 / (255 - zero)))
    return w.op("Max", step, w.number(f"least_{zero}", least))


def _zero_point(w: Writer, value: int) -> str:
    return w.constant(f"zero_{value}", np.array(value, dtype=np.uint8))


def pair_safe(weight: Array) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """INT8 values [K, O] and scales [O] with |q[2i] + q[2i+1]| <= 128 in every channel."""
    odd_row = np.zeros((weight.shape[0] % 2, weight.shape[1]), weight.dtype)
    padded = np.concatenate([weight, odd_row])
    pairs = np.abs(padded[0::2] + padded[1::2]).max(axis=0)

    peaks = np.maximum(np.abs(weight).max(axis=0), pairs)
    scales = np.maximum(peaks / LEVELS, TINY).astype(np.float32)
    return np.rint(weight / scales).astype(np.int8), scales


def blocked(weight: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """u8 values [V, blocks, size] around ZERO_POINT and their scales [V, blocks].

    Zeros fill the last block.
    """
    rows, hidden = weight.shape
    filled = np.pad(weight, ((0, 0), (0, -hidden % BLOCK)))
    blocks = filled.reshape(rows, -1, BLOCK)

    scales = np.maximum(np.abs(blocks).max(axis=-1) / LEVELS, TINY).astype(np.float32)
    values = np.rint(blocks / scales[..., None]) + ZERO_POINT
    return values.astype(np.uint8), scales
