"""Build time: a checkpoint becomes an INT8 model, and the layers are assembled. Never ships."""
