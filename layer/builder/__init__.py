"""Build-time half: a checkpoint becomes an INT8 ONNX file, and the layers are assembled. Never ships."""
