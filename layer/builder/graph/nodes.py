"""Collects the nodes and constants of an ONNX graph as it is written; knows nothing of BERT."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from builder.checkpoint.tensors import Array

OPSET = 20
CONTRIB = "com.microsoft"
Described = tuple[int, list[Any]]  # element type and dimensions of a tensor


class Writer:
    """Collects nodes and initializers; `op` returns the name of a node's output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self._shared: dict[tuple[str, ...], str] = {}

    def op(
        self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any
    ) -> Any:
        """Add one node; the name of its output, or a tuple of names when it has several."""
        stem = f"{kind}_{len(self.nodes)}"
        names = [stem] if outputs == 1 else [f"{stem}_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, inputs, names, domain=domain, name=stem, **attributes)
        )
        return names[0] if outputs == 1 else tuple(names)

    def shared(self, kind: str, *inputs: str) -> str:
        """The output of such a node, added only once: what all layers read of the inputs."""
        key = (kind, *inputs)
        if key not in self._shared:
            self._shared[key] = self.op(kind, *inputs)
        return self._shared[key]

    def rename_last(self, name: str) -> str:
        """Give the output of the node added last a public name."""
        self.nodes[-1].output[0] = name
        return name

    def constant(self, name: str, value: Array) -> str:
        """Add an initializer once; a name used again must mean the same tensor."""
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def model(
        self, inputs: Mapping[str, Described], outputs: Mapping[str, Described]
    ) -> onnx.ModelProto:
        """The whole, of ONNX's and onnxruntime's own operators."""
        graph = helper.make_graph(
            self.nodes,
            "fillmask",
            *(
                [
                    helper.make_tensor_value_info(name, *described)
                    for name, described in named.items()
                ]
                for named in (inputs, outputs)
            ),
            list(self.initializers.values()),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=9, producer_name="fillmask"
        )
