"""A container image of the same layers: for big models, and for hosts that are not Lambda."""
