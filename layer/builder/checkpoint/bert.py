"""BERT, under the names of transformers' BertForMaskedLM without the prefix `bert.`.

The graph goes by these names, and so do the tensors of the model that is written.
"""

from typing import Final

from builder.checkpoint.architecture import Architecture, ConfigNames, Fold, TensorNames

HEAD: Final = "cls.predictions."

CONFIG: Final = ConfigNames(
    layers="num_hidden_layers",
    hidden="hidden_size",
    heads="num_attention_heads",
    ffn="intermediate_size",
    positions="max_position_embeddings",
    vocabulary="vocab_size",
    epsilon="layer_norm_eps",
    activation="hidden_act",
)

TENSORS: Final = TensorNames(
    words="embeddings.word_embeddings.weight",
    positions="embeddings.position_embeddings.weight",
    embeddings_norm="embeddings.LayerNorm",
    query="encoder.layer.{}.attention.self.query",
    key="encoder.layer.{}.attention.self.key",
    value="encoder.layer.{}.attention.self.value",
    attention_output="encoder.layer.{}.attention.output.dense",
    attention_norm="encoder.layer.{}.attention.output.LayerNorm",
    intermediate="encoder.layer.{}.intermediate.dense",
    output="encoder.layer.{}.output.dense",
    output_norm="encoder.layer.{}.output.LayerNorm",
    transform=HEAD + "transform.dense",
    transform_norm=HEAD + "transform.LayerNorm",
    head_bias=HEAD + "bias",
    decoder=HEAD + "decoder.weight",
)

# Every token here is of the first type.
TOKEN_TYPES: Final = Fold(
    table="embeddings.token_type_embeddings.weight",
    into=TENSORS.positions,
    rows="type_vocab_size",
    usual_rows=2,
)

# ERNIE 3.0's, and what is made of it: every text here has the first task. Converters often call the
# result a BERT and keep the table.
TASK_TYPES: Final = Fold(
    table="embeddings.task_type_embeddings.weight",
    into=TENSORS.positions,
    rows="task_type_vocab_size",
    usual_rows=3,
    switch="use_task_id",
)

BERT: Final = Architecture(
    model_type="bert",
    config=CONFIG,
    tensors=TENSORS,
    folds=(TOKEN_TYPES, TASK_TYPES),
    prefixes=("bert.", "ernie."),
    # bert-base-chinese still has the names of TensorFlow.
    endings=(("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")),
    aliases=((HEAD + "decoder.bias", TENSORS.head_bias),),
    activations=("gelu", "gelu_new", "relu"),
)
