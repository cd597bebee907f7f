#!/usr/bin/env python3
# Generates the network that bench/compare times, for both sides.
"""Writes a sequence classifier of ModernBERT-base's size with random weights: config.json and model.safetensors for us,
the same network as model.onnx for ONNX Runtime, and model.int8.onnx with its products in 8 bits (activations u8, a
scale and a zero point per tensor; weights s8, a scale per output), the same form as ONNX Runtime's own quantizer
writes. The weights are random because the cost of a network depends only on its shapes. The graph is written operation
by operation, in forms that ONNX Runtime's optimiser recognises (LayerNormalization, gelu as Div Erf Add Mul Mul). Masks
and rotations are the same for all layers and are computed once.

usage: modernbert_base.py FOLDER          needs numpy and onnx
"""

import json
import math
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, WIDE, LAYERS, VOCABULARY, LABELS = 768, 12, 1152, 22, 50368, 14
GLOBAL_EVERY, WINDOW = 3, 64  # every third layer attends globally, the others to 64 tokens on each side
GLOBAL_THETA, LOCAL_THETA = 160000.0, 10000.0
HEAD_DIM, EPS = HIDDEN // HEADS, 1e-5
FAR = np.float32(-1e30)  # added to the score of a masked pair

CONFIG = {
    "architectures": ["ModernBertForSequenceClassification"], "model_type": "modernbert",
    "vocab_size": VOCABULARY, "max_position_embeddings": 8192, "hidden_size": HIDDEN,
    "num_attention_heads": HEADS, "intermediate_size": WIDE, "num_hidden_layers": LAYERS,
    "global_attn_every_n_layers": GLOBAL_EVERY, "local_attention": 2 * WINDOW,
    "global_rope_theta": GLOBAL_THETA, "local_rope_theta": LOCAL_THETA,
    "norm_eps": EPS, "norm_bias": False, "attention_bias": False, "mlp_bias": False,
    "classifier_bias": False, "hidden_activation": "gelu", "classifier_activation": "gelu",
    "classifier_pooling": "mean", "pad_token_id": 50283,
    "id2label": {str(i): f"LABEL_{i}" for i in range(LABELS)},
}


def random_weights():
    """Returns arrays by name, as stored in a checkpoint: a matrix is (out, in)."""
    random = np.random.default_rng(1)
    normal = lambda deviation, *shape: random.standard_normal(shape, np.float32) * np.float32(deviation)
    matrix = lambda out, inner: normal(inner ** -0.5, out, inner)
    gamma = lambda: 1 + normal(0.1, HIDDEN)
    out = {"model.embeddings.tok_embeddings.weight": normal(1, VOCABULARY, HIDDEN),
           "model.embeddings.norm.weight": gamma()}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        if i > 0:
            out[layer + "attn_norm.weight"] = gamma()
        out[layer + "attn.Wqkv.weight"] = matrix(3 * HIDDEN, HIDDEN)
        out[layer + "attn.Wo.weight"] = matrix(HIDDEN, HIDDEN)
        out[layer + "mlp_norm.weight"] = gamma()
        out[layer + "mlp.Wi.weight"] = matrix(2 * WIDE, HIDDEN)
        out[layer + "mlp.Wo.weight"] = matrix(HIDDEN, WIDE)
    out["model.final_norm.weight"] = gamma()
    out["head.dense.weight"] = matrix(HIDDEN, HIDDEN)
    out["head.norm.weight"] = gamma()
    out["classifier.weight"] = matrix(LABELS, HIDDEN)
    out["classifier.bias"] = normal(0.1, LABELS)
    return out


def write_safetensors(path, weights):
    header, end = {}, 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in weights.values():
            file.write(array.astype("<f4").tobytes())


class Graph:
    """Collects nodes and constants in call order. Every method returns the name of its result."""

    def __init__(self, int8):
        self.int8, self.nodes, self.constants, self.quantized = int8, [], [], {}

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values, dtype=np.float32):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def norm(self, x, gamma):
        return self.op("LayerNormalization", x, self.constant(gamma), self.constant(np.zeros(HIDDEN)), epsilon=EPS)

    def linear(self, x, weight):
        """Multiplies x (..., in) by the transpose of weight (out, in)."""
        if not self.int8:
            return self.op("MatMul", x, self.constant(weight.T))
        scale = np.abs(weight).max(1) / np.float32(127)
        integers = self.constant(np.rint(weight / scale[:, None]).T, np.int8)
        if x not in self.quantized:
            self.quantized[x] = self.op("DynamicQuantizeLinear", x, outputs=3)
        q, x_scale, x_zero = self.quantized[x]
        sums = self.op("MatMulInteger", q, integers, x_zero, self.constant(np.zeros(len(scale)), np.int8))
        return self.op("Mul", self.op("Cast", sums, to=TensorProto.FLOAT), self.op("Mul", x_scale, self.constant(scale)))

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.constant(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1))), self.constant(0.5))

    def halves(self, x):
        return self.op("Split", x, outputs=2, axis=-1)

    def rotations(self, positions, theta):
        """Returns cosines and sines (tokens, HEAD_DIM) of positions (tokens, 1)."""
        inverse = theta ** -(np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        angles = self.op("Mul", positions, self.constant(np.concatenate([inverse, inverse])[None]))
        return self.op("Cos", angles), self.op("Sin", angles)

    def turn(self, x, rotations):
        first, second = self.halves(x)
        turned = self.op("Concat", self.op("Neg", second), first, axis=-1)
        return self.op("Add", self.op("Mul", x, rotations[0]), self.op("Mul", turned, rotations[1]))

    def attention(self, x, weights, layer, rotations, mask):
        qkv = self.op("Reshape", self.linear(x, weights[layer + "attn.Wqkv.weight"]), self.ints(0, 0, 3, HEADS, HEAD_DIM))
        parts = self.op("Split", self.op("Transpose", qkv, perm=[2, 0, 3, 1, 4]), outputs=3, axis=0)
        q, k, v = (self.op("Squeeze", part, self.ints(0)) for part in parts)  # (batch, heads, tokens, head_dim)
        q, k = self.turn(q, rotations), self.turn(k, rotations)
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.op("Add", self.op("Mul", scores, self.constant(HEAD_DIM ** -0.5)), mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        rows = self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), self.ints(0, 0, HIDDEN))
        return self.linear(rows, weights[layer + "attn.Wo.weight"])

    def feed_forward(self, x, weights, layer):
        value, gate = self.halves(self.linear(x, weights[layer + "mlp.Wi.weight"]))
        return self.linear(self.op("Mul", self.gelu(value), gate), weights[layer + "mlp.Wo.weight"])


def network(graph, weights):
    """Builds the network from input_ids and attention_mask (batch, tokens) to logits (batch, LABELS)."""
    kept = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    count = graph.op("Gather", graph.op("Shape", "input_ids"), graph.constant(1, np.int64))
    steps = graph.op("Range", graph.constant(0, np.int64), count, graph.constant(1, np.int64))
    positions = graph.op("Unsqueeze", graph.op("Cast", steps, to=TensorProto.FLOAT), graph.ints(1))  # (tokens, 1)
    hidden_keys = graph.op("Mul", graph.op("Sub", graph.constant(1), kept), graph.constant(FAR))
    everywhere = graph.op("Unsqueeze", hidden_keys, graph.ints(1, 2))  # (batch, 1, 1, tokens)
    distance = graph.op("Abs", graph.op("Sub", positions, graph.op("Transpose", positions, perm=[1, 0])))
    far = graph.op("Cast", graph.op("Greater", distance, graph.constant(WINDOW)), to=TensorProto.FLOAT)
    nearby = graph.op("Add", everywhere, graph.op("Mul", far, graph.constant(FAR)))  # (batch, 1, tokens, tokens)
    rotations = [graph.rotations(positions, theta) for theta in (GLOBAL_THETA, LOCAL_THETA)]

    table = graph.constant(weights["model.embeddings.tok_embeddings.weight"])
    x = graph.norm(graph.op("Gather", table, "input_ids"), weights["model.embeddings.norm.weight"])
    for i in range(LAYERS):
        layer, is_global = f"model.layers.{i}.", i % GLOBAL_EVERY == 0
        normed = graph.norm(x, weights[layer + "attn_norm.weight"]) if i > 0 else x
        local = 0 if is_global else 1
        x = graph.op("Add", x, graph.attention(normed, weights, layer, rotations[local], (everywhere, nearby)[local]))
        x = graph.op("Add", x, graph.feed_forward(graph.norm(x, weights[layer + "mlp_norm.weight"]), weights, layer))
    x = graph.norm(x, weights["model.final_norm.weight"])

    weighted = graph.op("Mul", x, graph.op("Unsqueeze", kept, graph.ints(2)))
    total = graph.op("ReduceSum", weighted, graph.ints(1), keepdims=0)
    pooled = graph.op("Div", total, graph.op("ReduceSum", kept, graph.ints(1), keepdims=1))
    head = graph.norm(graph.gelu(graph.linear(pooled, weights["head.dense.weight"])), weights["head.norm.weight"])
    logits = graph.linear(head, weights["classifier.weight"])
    graph.nodes.append(helper.make_node("Add", [logits, graph.constant(weights["classifier.bias"])], ["logits"]))


def write_onnx(path, weights, int8):
    graph = Graph(int8)
    network(graph, weights)
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
           for name in ("input_ids", "attention_mask")]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", LABELS])
    whole = helper.make_graph(graph.nodes, "modernbert_base", ids, [logits], graph.constants)
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
