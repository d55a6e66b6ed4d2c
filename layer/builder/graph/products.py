"""Two ways to multiply: float32, the yardstick, and pair-safe INT8, what ships.

Weights are INT8, symmetric, one scale an output channel. Activations are unsigned 8 bit. Those of a LayerNorm
have a constant scale where calibrate.py found one that is fine enough; the product then undoes it and adds the
bias in one go. All others have one scale a row (token), found as they come. Either way a text's answer cannot
depend on its batch mates.

Pair-safe: without VNNI, x86 multiplies u8 x s8 in pairs and saturates their sum at 16 bits. With
|w0 + w1| <= 128 for neighbouring inputs (2i, 2i+1), 255 * 128 stays within 32,767: nothing can
saturate, and a CPU with AVX2 gives the same integers as one with AVX-512 VNNI.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from builder.checkpoint.tensors import Array
from builder.graph.nodes import CONTRIB, Writer

LEVELS = 127
WEIGHT = ".int8"  # ends the name of every matrix of multiply()
ZERO_POINT = 128  # of values of either sign
LOW_ZERO_POINT = (
    24  # of values after an activation: GELU goes no lower than -0.17, so most levels are above 0
)


class Float32:
    """Plain float32 products."""

    def quantise(self, w: Writer, x: str, *, floor: float | None = None) -> Any:
        """Nothing to do."""
        return x

    def multiply(self, w: Writer, x: Any, name: str, weight: Array, bias: Array) -> str:
        """MatMul and Add."""
        product = w.op("MatMul", x, w.constant(f"{name}.weight", weight))
        return str(w.op("Add", product, w.constant(f"{name}.bias", bias)))

    def table(self, w: Writer, name: str, weight: Array) -> None:
        """One float32 matrix."""
        w.constant(name, weight)

    def look_up(self, w: Writer, name: str, ids: str) -> str:
        """Gather rows."""
        return str(w.op("Gather", name, ids, axis=0))

    def project(self, w: Writer, name: str, x: str, bias: Array) -> str:
        """Multiply by the transposed table."""
        return str(w.op("Gemm", x, name, w.constant(f"{name}.bias", bias), transB=1))


class Rows(NamedTuple):
    """Quantised rows: names of the u8 values [N, K], of the constant scale and zero point, and of the scales
    [N, 1] beside it where each row has its own."""

    values: str
    scale: str
    zero_point: str
    row_scales: str | None


class PairSafeInt8:
    """Pair-safe per-channel weights, one 8-bit blocked copy of the embedding table. `peaks` has the largest
    magnitude of those rows that take a constant scale, by name."""

    def __init__(self, peaks: Mapping[str, float]) -> None:
        self._peaks = peaks

    def quantise(self, w: Writer, x: str, *, floor: float | None = None) -> Rows:
        """u8; after an activation with a known floor nearly all 255 levels serve."""
        if x in self._peaks:
            scale = w.constant(f"{x}.step", np.array(self._peaks[x] / LEVELS, dtype=np.float32))
            point = _zero_point(w, ZERO_POINT)
            return Rows(w.op("QuantizeLinear", x, scale, point), scale, point, None)
        axis = w.constant("last_axis", np.array([-1]))
        zero, least = (
            (ZERO_POINT, 1e-12)
            if floor is None
            else (LOW_ZERO_POINT, max(-floor / LOW_ZERO_POINT, 1e-12))
        )
        top = w.op("ReduceMax", w.op("Abs", x) if floor is None else x, axis, keepdims=1)
        step = w.constant(f"step_{zero}", np.array(1 / (255 - zero), dtype=np.float32))
        scales = w.op(
            "Max",
            w.op("Mul", top, step),
            w.constant(f"least_{zero}", np.array(least, dtype=np.float32)),
        )
        one, point = w.constant("one", np.array(1, dtype=np.float32)), _zero_point(w, zero)
        return Rows(w.op("QuantizeLinear", w.op("Div", x, scales), one, point), one, point, scales)

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
            "",
            "" if x.row_scales else shift,
            domain=CONTRIB,
        )
        return str(
            w.op("Add", w.op("Mul", product, x.row_scales), shift) if x.row_scales else product
        )

    def table(self, w: Writer, name: str, weight: Array) -> None:
        """Blocks of one scale each along the hidden axis, in MatMulNBits' layout [V, blocks, size]."""
        values, scales = blocked(weight)
        w.constant(f"{name}.blocks", values)
        w.constant(f"{name}.block_scales", scales)

    def look_up(self, w: Writer, name: str, ids: str) -> str:
        """Gather the blocks of a row and undo their scale."""
        values = w.op("Cast", w.op("Gather", f"{name}.blocks", ids, axis=0), to=1)
        zero = w.constant("block_zero", np.array(ZERO_POINT, dtype=np.float32))
        scales = w.op("Gather", f"{name}.block_scales", ids, axis=0)
        scales = w.op("Unsqueeze", scales, w.constant("last_axis", np.array([-1])))
        blocks = w.op("Mul", w.op("Sub", values, zero), scales)
        _, count, size = w.initializers[f"{name}.blocks"].dims
        return str(w.op("Reshape", blocks, w.constant("table_rows", np.array([-1, count * size]))))

    def project(self, w: Writer, name: str, x: str, bias: Array) -> str:
        """MatMulNBits, INT8 accumulation (accuracy level 4). Its kernel for an odd last row rounds
        differently from the one for row pairs, so callers pass an even number of rows."""
        vocabulary, count, size = w.initializers[f"{name}.blocks"].dims
        return str(
            w.op(
                "MatMulNBits",
                x,
                f"{name}.blocks",
                f"{name}.block_scales",
                "",
                "",
                w.constant(f"{name}.bias", bias),
                domain=CONTRIB,
                K=count * size,
                N=vocabulary,
                bits=8,
                block_size=size,
                accuracy_level=4,
            )
        )


def _zero_point(w: Writer, value: int) -> str:
    return w.constant(f"zero_{value}", np.array(value, dtype=np.uint8))


def pair_safe(weight: Array) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """INT8 values [K, O] and scales [O] with |q[2i] + q[2i+1]| <= 128 in every channel."""
    padded = np.concatenate(
        [weight, np.zeros((weight.shape[0] % 2, weight.shape[1]), weight.dtype)]
    )
    pairs = np.abs(padded[0::2] + padded[1::2]).max(axis=0)
    scales = np.maximum(np.maximum(np.abs(weight).max(axis=0), pairs) / LEVELS, 1e-12).astype(
        np.float32
    )
    return np.rint(weight / scales).astype(np.int8), scales


def blocked(weight: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """u8 values [V, blocks, size] around ZERO_POINT and their scales [V, blocks]."""
    rows, hidden = weight.shape
    size = next(size for size in (256, 128, 64, 32, 16) if hidden % size == 0)
    blocks = weight.reshape(rows, hidden // size, size)
    scales = np.maximum(np.abs(blocks).max(axis=-1) / LEVELS, 1e-12).astype(np.float32)
    values = np.rint(blocks / scales[..., None]) + ZERO_POINT
    return values.astype(np.uint8), scales
