#!/usr/bin/env python3
# Writes the goldens of GLiNER's head: random weights under the names that checkpoints have, hidden states, and the logits
# that PyTorch's own layers compute from them. It follows the published description of the layers; neither published weights
# nor the published code were run.
#
# usage: gliner_golden.py FOLDER   (needs PyTorch; tests/engine/data has the result)

import json
import struct
import sys

import torch
from torch import nn

# Name: width of the encoder, width of the head, layers of the LSTM, words of a span.
CASES = {"gliner_projected": (12, 8, 1, 4), "gliner_deep": (8, 8, 2, 3), "gliner_plain": (6, 6, 0, 12)}


def projection(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 4 * outputs), nn.ReLU(), nn.Dropout(0.4), nn.Linear(4 * outputs, outputs))


class Spans(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.project_start = projection(hidden, hidden)
        self.project_end = projection(hidden, hidden)
        self.out_project = projection(2 * hidden, hidden)


class Head(nn.Module):
    def __init__(self, width, hidden, layers):
        super().__init__()
        self.token_rep_layer, self.rnn, self.span_rep_layer = nn.Module(), nn.Module(), nn.Module()
        if width != hidden:
            self.token_rep_layer.projection = nn.Linear(width, hidden)
        if layers > 0:
            self.rnn.lstm = nn.LSTM(hidden, hidden // 2, layers, bidirectional=True, batch_first=True)
        self.span_rep_layer.span_rep_layer = Spans(hidden)
        self.prompt_rep_layer = projection(hidden, hidden)

    def forward(self, x, labels, words, span_words):
        if hasattr(self.token_rep_layer, "projection"):
            x = self.token_rep_layer.projection(x)
        w = torch.stack([x[i] if i >= 0 else torch.zeros(x.size(1)) for i in words])
        if hasattr(self.rnn, "lstm"):
            w = self.rnn.lstm(w[None])[0][0]
        spans = self.span_rep_layer.span_rep_layer
        first, last = spans.project_start(w), spans.project_end(w)
        p = self.prompt_rep_layer(x[torch.tensor(labels)])
        out = torch.zeros(len(words), span_words, len(labels))
        for i in range(len(words)):
            for k in range(min(span_words, len(words) - i)):
                out[i, k] = p @ spans.out_project(torch.cat([first[i], last[i + k]]).relu())
        return out


def write(path, tensors):
    header, data, at = {}, [], 0
    for name, tensor in tensors.items():
        raw = tensor.detach().float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(raw)]}
        data.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def main(folder):
    torch.manual_seed(5)
    for name, (width, hidden, layers, span_words) in CASES.items():
        head = Head(width, hidden, layers).eval()
        for parameter in head.parameters():
            nn.init.normal_(parameter, 0, 0.3 if parameter.dim() == 1 else 1.2 / parameter.size(1) ** 0.5)
        x, labels, words = torch.randn(20, width), [1, 3, 4], [6, 7, -1, 9, 10, 11, 14, 16, 17]
        with torch.no_grad():
            logits = head(x, labels, words, span_words)
        expected = {"expected.x": x, "expected.labels": torch.tensor(labels), "expected.words": torch.tensor(words), "expected.logits": logits}
        write(f"{folder}/{name}.safetensors", {**dict(head.named_parameters()), **expected})


main(sys.argv[1])
