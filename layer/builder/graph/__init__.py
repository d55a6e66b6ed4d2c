"""The model as an ONNX graph, in float32 or pair-safe INT8."""
