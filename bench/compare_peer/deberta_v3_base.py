#!/usr/bin/env python3
# Generates the second network that bench/compare times, for both sides.
"""Writes a sequence classifier of DeBERTa-v3-base's size with random weights, as modernbert_base.py does for
ModernBERT. The graph has the form in which Hugging Face's code is exported: the queries and keys are multiplied by the
vectors of all distances, and GatherElements reads two of these products for each score. The rows of the distances come
from a constant, and the vectors of the distances follow from constants alone, so ONNX Runtime computes them once when
it loads the model. The table of tokens is smaller than the published one, because its size costs no time.

usage: deberta_v3_base.py FOLDER          needs numpy and onnx
"""

import json
import math
import os
import sys

import numpy as np
import onnx
from modernbert_base import FAR, Graph, write_safetensors
from onnx import TensorProto, helper

HIDDEN, HEADS, WIDE, LAYERS, VOCABULARY, LABELS = 768, 12, 3072, 12, 32000, 2
BUCKETS, POSITIONS = 256, 512
HEAD_DIM, EPS = HIDDEN // HEADS, 1e-7

CONFIG = {
    "architectures": ["DebertaV2ForSequenceClassification"], "model_type": "deberta-v2",
    "vocab_size": VOCABULARY, "max_position_embeddings": POSITIONS, "hidden_size": HIDDEN,
    "num_attention_heads": HEADS, "intermediate_size": WIDE, "num_hidden_layers": LAYERS, "hidden_act": "gelu",
    "layer_norm_eps": EPS, "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "pad_token_id": 0,
    "pooler_hidden_act": "gelu", "pooler_hidden_size": HIDDEN, "pos_att_type": "p2c|c2p",
    "position_biased_input": False, "position_buckets": BUCKETS, "relative_attention": True, "share_att_key": True,
    "type_vocab_size": 0, "id2label": {str(i): f"LABEL_{i}" for i in range(LABELS)},
}


def random_weights():
    """Returns arrays by name, as stored in a checkpoint: a matrix is (out, in)."""
    random = np.random.default_rng(1)
    normal = lambda deviation, *shape: random.standard_normal(shape, np.float32) * np.float32(deviation)
    out = {"deberta.embeddings.word_embeddings.weight": normal(1, VOCABULARY, HIDDEN),
           "deberta.encoder.rel_embeddings.weight": normal(1, 2 * BUCKETS, HIDDEN)}

    def norm(name):
        out[name + ".weight"], out[name + ".bias"] = 1 + normal(0.1, HIDDEN), normal(0.1, HIDDEN)

    def linear(name, rows, inner):
        out[name + ".weight"], out[name + ".bias"] = normal(inner ** -0.5, rows, inner), normal(0.1, rows)

    norm("deberta.embeddings.LayerNorm")
    norm("deberta.encoder.LayerNorm")
    for i in range(LAYERS):
        layer = f"deberta.encoder.layer.{i}."
        for name in ("query_proj", "key_proj", "value_proj"):
            linear(layer + "attention.self." + name, HIDDEN, HIDDEN)
        linear(layer + "attention.output.dense", HIDDEN, HIDDEN)
        norm(layer + "attention.output.LayerNorm")
        linear(layer + "intermediate.dense", WIDE, HIDDEN)
        linear(layer + "output.dense", HIDDEN, WIDE)
        norm(layer + "output.LayerNorm")
    linear("pooler.dense", HIDDEN, HIDDEN)
    linear("classifier", LABELS, HIDDEN)
    return out


def rows_of_distances():
    """Returns the row in the table of distances of each i - j from 1 - POSITIONS to POSITIONS - 1."""
    difference = np.arange(1 - POSITIONS, POSITIONS)
    middle = BUCKETS // 2
    far = np.maximum(np.abs(difference), middle)
    log = np.ceil(np.log(far / middle) / math.log((POSITIONS - 1) / middle) * (middle - 1)) + middle
    bucket = np.where(np.abs(difference) <= middle, difference, log * np.sign(difference)).astype(np.int64)
    return np.clip(bucket + BUCKETS, 0, 2 * BUCKETS - 1)


class Deberta(Graph):
    def __init__(self, weights, int8):
        super().__init__(int8)
        self.weights = weights

    def dense(self, name, x):
        return self.op("Add", self.linear(x, self.weights[name + ".weight"]), self.constant(self.weights[name + ".bias"]))

    def normed(self, name, x):
        gamma, beta = (self.constant(self.weights[name + end]) for end in (".weight", ".bias"))
        return self.op("LayerNormalization", x, gamma, beta, epsilon=EPS)

    def heads(self, x):
        """(batch, rows, HIDDEN) to (batch, HEADS, rows, HEAD_DIM)."""
        return self.op("Transpose", self.op("Reshape", x, self.ints(0, 0, HEADS, HEAD_DIM)), perm=[0, 2, 1, 3])

    def product(self, a, b):
        return self.op("MatMul", a, self.op("Transpose", b, perm=[0, 1, 3, 2]))

    def attention(self, layer, x, distances, rows, mask):
        self_ = layer + "attention.self."
        q, k, v = (self.heads(self.dense(self_ + name, x)) for name in ("query_proj", "key_proj", "value_proj"))
        distance_q, distance_k = (self.heads(self.dense(self_ + name, distances)) for name in ("query_proj", "key_proj"))
        scale = self.constant(1 / math.sqrt(3 * HEAD_DIM))
        scores = self.product(q, k)
        index = self.op("Expand", rows, self.op("Shape", scores))
        by_query = self.op("GatherElements", self.product(q, distance_k), index, axis=-1)
        # Row k, column q has the row of the distance q - k, which is that of k - q from the other end.
        turned = self.op("Transpose", index, perm=[0, 1, 3, 2])
        by_key = self.op("GatherElements", self.product(k, distance_q), turned, axis=-1)
        scores = self.op("Add", scores, self.op("Add", by_query, self.op("Transpose", by_key, perm=[0, 1, 3, 2])))
        weights = self.op("Softmax", self.op("Add", self.op("Mul", scores, scale), mask), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.dense(layer + "attention.output.dense", self.op("Reshape", mixed, self.ints(0, 0, HIDDEN)))

    def network(self):
        """Builds the network from input_ids and attention_mask (batch, tokens) to logits (batch, LABELS)."""
        kept = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        hidden_keys = self.op("Mul", self.op("Sub", self.constant(1), kept), self.constant(FAR))
        mask = self.op("Unsqueeze", hidden_keys, self.ints(1, 2))  # (batch, 1, 1, tokens)
        count = self.op("Gather", self.op("Shape", "input_ids"), self.constant(1, np.int64))
        steps = self.op("Range", self.constant(0, np.int64), count, self.constant(1, np.int64))
        difference = self.op("Sub", self.op("Unsqueeze", steps, self.ints(1)), self.op("Unsqueeze", steps, self.ints(0)))
        rows = self.op("Gather", self.constant(rows_of_distances(), np.int64),
                       self.op("Add", difference, self.constant(POSITIONS - 1, np.int64)))  # (tokens, tokens)
        table = self.constant(self.weights["deberta.encoder.rel_embeddings.weight"][None])
        distances = self.normed("deberta.encoder.LayerNorm", table)  # (1, 2 BUCKETS, HIDDEN)
        words = self.constant(self.weights["deberta.embeddings.word_embeddings.weight"])
        x = self.normed("deberta.embeddings.LayerNorm", self.op("Gather", words, "input_ids"))
        for i in range(LAYERS):
            layer = f"deberta.encoder.layer.{i}."
            mixed = self.attention(layer, x, distances, rows, mask)
            x = self.normed(layer + "attention.output.LayerNorm", self.op("Add", x, mixed))
            wide = self.gelu(self.dense(layer + "intermediate.dense", x))
            x = self.normed(layer + "output.LayerNorm", self.op("Add", x, self.dense(layer + "output.dense", wide)))
        first = self.op("Gather", x, self.constant(0, np.int64), axis=1)
        logits = self.dense("classifier", self.gelu(self.dense("pooler.dense", first)))
        self.nodes.append(helper.make_node("Identity", [logits], ["logits"]))


def write_onnx(path, weights, int8):
    graph = Deberta(weights, int8)
    graph.network()
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
           for name in ("input_ids", "attention_mask")]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", LABELS])
    whole = helper.make_graph(graph.nodes, "deberta_v3_base", ids, [logits], graph.constants)
    onnx.save(helper.make_model(whole, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    weights = random_weights()
    write_safetensors(f"{folder}/model.safetensors", weights)
    write_onnx(f"{folder}/model.onnx", weights, int8=False)
    write_onnx(f"{folder}/model.int8.onnx", weights, int8=True)
    with open(f"{folder}/config.json", "w") as file:
        json.dump(CONFIG, file, indent=1)


if __name__ == "__main__":
    main()
