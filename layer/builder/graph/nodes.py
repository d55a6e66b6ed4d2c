"""Collects the nodes and constants of an ONNX graph as it is written; knows nothing of BERT."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from builder.checkpoint.tensors import Array

OPSET: Final = 20
IR_VERSION: Final = 9
CONTRIB: Final = "com.microsoft"  # the domain of onnxruntime's own operators

Attribute = str | int | float


class TensorType(NamedTuple):
    """Element type (of onnx.TensorProto) and dimensions; a name stands for a size known at run time
    only.
    """

    element: int
    dimensions: Sequence[str | int]


class Writer:
    """Collects nodes and initializers; tensors are known by their names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self._shared: dict[tuple[str, ...], str] = {}

    def op(
        self,
        kind: str,
        *inputs: str,
        outputs: Sequence[str] = (),
        domain: str = "",
        **attributes: Attribute,
    ) -> str:
        """Adds a node and returns the name of its first output: `outputs`, or one named after the
        node.
        """
        name = f"{kind}_{len(self.nodes)}"
        outputs = outputs or [name]
        node = helper.make_node(kind, inputs, outputs, domain=domain, name=name, **attributes)
        self.nodes.append(node)
        return outputs[0]

    def shared(self, kind: str, *inputs: str) -> str:
        """The output of such a node, added only once: what all layers compute of the inputs."""
        key = (kind, *inputs)
        if key not in self._shared:
            self._shared[key] = self.op(kind, *inputs)
        return self._shared[key]

    def constant(self, name: str, value: Array) -> str:
        """Adds an initializer once; a name that is used again must mean the same tensor."""
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def integer(self, name: str, value: int) -> str:
        """An int64 scalar."""
        return self.constant(name, np.array(value))

    def integers(self, name: str, *values: int) -> str:
        """An int64 vector: a shape, or axes."""
        return self.constant(name, np.array(values))

    def number(self, name: str, value: float) -> str:
        """A float32 scalar."""
        return self.constant(name, np.array(value, dtype=np.float32))

    def model(
        self, inputs: Mapping[str, TensorType], outputs: Mapping[str, TensorType]
    ) -> onnx.ModelProto:
        """The whole graph, of ONNX's and onnxruntime's own operators."""
        graph = helper.make_graph(
            self.nodes,
            "fillmask",
            _described(inputs),
            _described(outputs),
            list(self.initializers.values()),
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)],
            ir_version=IR_VERSION,
            producer_name="fillmask",
        )


def _described(tensors: Mapping[str, TensorType]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, *kind) for name, kind in tensors.items()]
