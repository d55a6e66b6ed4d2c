"""How matrices are stored and multiplied: what a precision offers, and float32, the yardstick."""

from typing import Final, NamedTuple, Protocol

from builder.checkpoint.tensors import Array
from builder.graph.nodes import Writer

WEIGHT: Final = ".weight"  # ends the name of every float32 matrix of multiply()


class Rows(NamedTuple):
    """Names of the tensors that stand for rows [N, K], ready to be multiplied.

    Quantised `values` have a constant scale and zero point, and scales [N, 1] besides where each
    row has its own. "" is ONNX's name for a tensor that is left out.
    """

    values: str
    scale: str = ""
    zero_point: str = ""
    row_scales: str = ""


class Precision(Protocol):
    """Float32 or PairSafeInt8. N rows, K and O channels, M predicted positions."""

    def prepare(self, w: Writer, x: str, *, floor: float | None = None) -> Rows:
        """Makes rows [N, K] ready for `multiply`.

        `floor` is a lower bound of the values, if one is known. A LayerNorm's output goes by the
        LayerNorm's name (encoder.layer.0.output.LayerNorm).
        """

    def multiply(self, w: Writer, x: Rows, name: str, weight: Array, bias: Array) -> str:
        """x [N, K] times weight [K, O] plus bias [O]."""

    def multiply_finely(self, w: Writer, x: str, name: str, weight: Array, bias: Array) -> str:
        """The same for rows x [N, K] as they are, where N is small and even and accuracy counts."""

    def store_table(self, w: Writer, name: str, weight: Array) -> None:
        """Stores a matrix [vocabulary, hidden] that is both looked up and multiplied with."""

    def look_up(self, w: Writer, name: str, ids: str) -> str:
        """Rows of a stored table."""

    def project(self, w: Writer, name: str, x: str, bias: Array) -> str:
        """x [M, hidden] times the transposed table plus bias: [M, vocabulary]."""


class Float32:
    """Plain float32."""

    def prepare(self, w: Writer, x: str, *, floor: float | None = None) -> Rows:
        """The rows as they are."""
        return Rows(x)

    def multiply(self, w: Writer, x: Rows, name: str, weight: Array, bias: Array) -> str:
        """MatMul and Add."""
        product = w.op("MatMul", x.values, w.constant(name + WEIGHT, weight))
        return w.op("Add", product, w.constant(f"{name}.bias", bias))

    def multiply_finely(self, w: Writer, x: str, name: str, weight: Array, bias: Array) -> str:
        """As ever: nothing is finer."""
        return self.multiply(w, Rows(x), name, weight, bias)

    def store_table(self, w: Writer, name: str, weight: Array) -> None:
        """One float32 matrix."""
        w.constant(name, weight)

    def look_up(self, w: Writer, name: str, ids: str) -> str:
        """Gathers rows."""
        return w.op("Gather", name, ids, axis=0)

    def project(self, w: Writer, name: str, x: str, bias: Array) -> str:
        """Multiplies by the transposed table."""
        return w.op("Gemm", x, name, w.constant(f"{name}.bias", bias), transB=1)
