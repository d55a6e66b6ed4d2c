"""The same function over activations that INT8 keeps better, found on what calibrate.py measured.

Two kinds of activations are moved and scaled, channel by channel, and the weights and biases around
them compensate for it. Real BERTs have channels that lie far from the others and reach further, and
those alone would use up most levels of INT8.

The context of attention: the value projection takes up the move and the scale, at no cost.

What a LayerNorm puts out: its shift takes up the move; the scale is one multiplication before
quantisation. One constant scale of all channels is then enough, unless a few tokens go much further
than the usual one: such a LayerNorm keeps a scale per token.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from builder.checkpoint.adjusted import Adjusted
from builder.checkpoint.bert import TENSORS
from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.tensors import Array
from builder.graph.calibrate import Activations, norm_outputs

# The most that a constant scale's error may exceed that of the usual token's own scale: two of the
# eight bits.
MOST_LOSS: Final = 16.0
LEAST: Final = 1e-6  # of a reach, so that channels of zeros divide by something
LEAST_SHARE: Final = 1e-3  # of the largest reach; a channel may go further than was measured
# How much of a channel's reach its scale takes up; the rest is left to the weights that read it.
NORM_SHARE: Final = 0.75
CONTEXT_SHARE: Final = 0.5

# All results are rounded coarsely, so that another CPU, whose float32 differs slightly, builds the
# same model.
STEP: Final = 0.5  # of a move; LayerNorm's outputs have a deviation of about 1
CONTEXT_STEPS: Final = 8  # of a move, in the reach of a context's channel
PEAK_STEPS: Final = 16  # of a peak, per octave
SCALE_STEPS: Final = 4  # of a channel's scale, per octave

Channels = npt.NDArray[np.float64]  # [hidden]
Rows = npt.NDArray[np.float32]  # [tokens, hidden]


class Fit(NamedTuple):
    """How far each channel is moved down and what it is then divided by."""

    move: Channels
    scale: Channels


class NormFit(NamedTuple):
    """A Fit, and the largest magnitude a constant scale has to reach then, or None for a scale per
    token.
    """

    move: Channels
    scale: Channels
    peak: float | None


class Balanced(NamedTuple):
    """A checkpoint over balanced activations, and the fit of each LayerNorm by its name."""

    checkpoint: Checkpoint
    fits: Mapping[str, NormFit]


def balance(checkpoint: Checkpoint, measured: Activations) -> Balanced:
    """The same function, to be quantised by the fits."""
    tensors = Adjusted(checkpoint.tensors)
    layers = checkpoint.shape.layers
    for index in range(layers):
        names = TENSORS.of_layer(index)
        context = measured.contexts[names.attention_output]
        fit = fit_context(context, _reach(tensors, [names.attention_output]))
        _fold_into_values(tensors, names.value, names.attention_output, fit)

    fits = {}
    for norm, readers, residual in norm_outputs(layers):
        fits[norm] = fit_norm(measured.norms[norm], _reach(tensors, readers))
        _move_norm(tensors, norm, readers, residual, fits[norm].move)
        for reader in readers:
            tensors.scale(f"{reader}.weight", fits[norm].scale)
    return Balanced(checkpoint._replace(tensors=tensors), fits)


def fit_norm(values: Rows, weights: Channels) -> NormFit:
    """How the outputs of one LayerNorm are best quantised, whose channels are multiplied with
    `weights` of that magnitude.

    They are moved to the middle of their range, or to the usual token where a few tokens stretch
    the range too far.
    """
    middle = _rounded((values.min(axis=0) + values.max(axis=0)) / 2, STEP)
    usual = _rounded(np.median(values, axis=0), STEP)
    move = usual if _stretched(values - middle, values - usual) else middle

    moved = values - move
    scale = _scale(np.abs(moved).max(axis=0), weights, NORM_SHARE)
    scaled = moved / scale
    if _stretched(scaled, scaled):
        return NormFit(move, scale, None)

    top = max(float(np.abs(scaled).max()), LEAST)
    return NormFit(move, scale, float(2 ** (np.ceil(np.log2(top) * PEAK_STEPS) / PEAK_STEPS)))


def fit_context(values: Rows, weights: Channels) -> Fit:
    """How the context of one layer is best quantised, with a scale per token."""
    reach = _floored((values.max(axis=0) - values.min(axis=0)) / 2)
    steps = 2 ** np.floor(np.log2(reach)) / CONTEXT_STEPS
    move = _rounded(np.median(values, axis=0), steps)
    return Fit(move, _scale(np.abs(values - move).max(axis=0), weights, CONTEXT_SHARE))


def _fold_into_values(tensors: Adjusted, values: str, output: str, fit: Fit) -> None:
    """Attention averages values, so that whatever is done to all of them is done to the context."""
    moved = tensors[f"{output}.weight"].astype(np.float64) @ fit.move
    tensors.shift(f"{output}.bias", moved)
    tensors.scale(f"{output}.weight", fit.scale)

    tensors.scale(f"{values}.weight", 1 / fit.scale[:, None])
    tensors.scale(f"{values}.bias", 1 / fit.scale)
    tensors.shift(f"{values}.bias", -fit.move / fit.scale)


def _move_norm(
    tensors: Adjusted, norm: str, readers: Sequence[str], residual: str, move: Channels
) -> None:
    """Whatever is computed from the moved output gets back what was taken."""
    tensors.shift(f"{norm}.bias", -move)
    for reader in readers:
        tensors.shift(f"{reader}.bias", tensors[f"{reader}.weight"].astype(np.float64) @ move)
    tensors.shift(f"{residual}.bias", move)


def _reach(tensors: Mapping[str, Array], readers: Sequence[str]) -> Channels:
    """The largest magnitude of the weights that each channel is multiplied with."""
    tops = [np.abs(tensors[f"{reader}.weight"]).max(axis=0) for reader in readers]
    return np.asarray(np.max(tops, axis=0), dtype=np.float64)


def _scale(reach: Array, weights: Channels, share: float) -> Channels:
    """Divides the levels of INT8 between a channel and the weights that it is multiplied with."""
    octaves = share * np.log2(_floored(reach)) - (1 - share) * np.log2(_floored(weights))
    return np.asarray(2 ** (np.rint(octaves * SCALE_STEPS) / SCALE_STEPS))


def _floored(reach: Array) -> Channels:
    least = max(float(reach.max()) * LEAST_SHARE, LEAST)
    return np.maximum(reach.astype(np.float64), least)


def _stretched(values: Array, usual: Array) -> bool:
    """Whether the furthest token goes too much further than the usual one."""
    top = float(np.abs(values).max())
    usual_top = max(float(np.median(np.abs(usual).max(axis=1))), LEAST)
    return top**2 > MOST_LOSS * usual_top**2  # the error grows with the square


def _rounded(values: Array, step: float | Channels) -> Channels:
    return np.asarray(np.rint(values.astype(np.float64) / step) * step)
