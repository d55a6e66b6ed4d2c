"""Architectures whose graph is BERT's: ERNIE, RoBERTa, XLM-R, DistilBERT and ELECTRA.

They differ in the names of their tensors and in the rows of their tables that are used. Each name
is brought to BERT's (bert.py). Reads no file.
"""

from typing import Final

from builder.checkpoint.bert import BERT, CONFIG, HEAD, TOKEN_TYPES

ERNIE: Final = BERT._replace(model_type="ernie")

ROBERTA: Final = BERT._replace(
    model_type="roberta",
    folds=(TOKEN_TYPES,),
    prefixes=("roberta.",),
    activations=("gelu",),  # the head's, whatever config.json says
    renames=(
        (r"lm_head\.dense\.", f"{HEAD}transform.dense."),
        (r"lm_head\.layer_norm\.", f"{HEAD}transform.LayerNorm."),
        (r"lm_head\.", HEAD),
    ),
    positions_after_padding=True,
)
XLM_ROBERTA: Final = ROBERTA._replace(model_type="xlm-roberta")

DISTILBERT: Final = BERT._replace(
    model_type="distilbert",
    config=CONFIG._replace(
        layers="n_layers",
        hidden="dim",
        heads="n_heads",
        ffn="hidden_dim",
        activation="activation",
    ),
    folds=(),
    prefixes=("distilbert.",),
    renames=(
        (r"transformer\.", "encoder."),
        (r"(encoder\.layer\.\d+\.)attention\.q_lin\.", r"\1attention.self.query."),
        (r"(encoder\.layer\.\d+\.)attention\.k_lin\.", r"\1attention.self.key."),
        (r"(encoder\.layer\.\d+\.)attention\.v_lin\.", r"\1attention.self.value."),
        (r"(encoder\.layer\.\d+\.)attention\.out_lin\.", r"\1attention.output.dense."),
        (r"(encoder\.layer\.\d+\.)sa_layer_norm\.", r"\1attention.output.LayerNorm."),
        (r"(encoder\.layer\.\d+\.)ffn\.lin1\.", r"\1intermediate.dense."),
        (r"(encoder\.layer\.\d+\.)ffn\.lin2\.", r"\1output.dense."),
        (r"(encoder\.layer\.\d+\.)output_layer_norm\.", r"\1output.LayerNorm."),
        (r"vocab_transform\.", f"{HEAD}transform.dense."),
        (r"vocab_layer_norm\.", f"{HEAD}transform.LayerNorm."),
        (r"vocab_projector\.weight", f"{HEAD}decoder.weight"),
        (r"vocab_projector\.bias", f"{HEAD}bias"),
    ),
)

ELECTRA: Final = BERT._replace(
    model_type="electra",
    folds=(TOKEN_TYPES,),
    prefixes=("electra.",),
    activations=("gelu",),  # the generator's head's, whatever config.json says
    renames=(
        (r"generator_predictions\.dense\.", f"{HEAD}transform.dense."),
        (r"generator_predictions\.LayerNorm\.", f"{HEAD}transform.LayerNorm."),
        (r"generator_lm_head\.weight", f"{HEAD}decoder.weight"),
        (r"generator_lm_head\.bias", f"{HEAD}bias"),
    ),
)

ARCHITECTURES: Final = {
    known.model_type: known for known in (BERT, ERNIE, ROBERTA, XLM_ROBERTA, DISTILBERT, ELECTRA)
}
