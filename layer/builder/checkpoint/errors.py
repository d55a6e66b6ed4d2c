"""Why a checkpoint is refused."""


class CheckpointError(Exception):
    """The checkpoint cannot be converted, or its model not be put where it was asked for.

    The message is one sentence that names the file or the tensor.
    """
