"""all-MiniLM-L6-v2, or another BERT of its width, in torch.

A low-rank adapter (LoRA) on every linear layer is trained: W' = W + (alpha / rank) B A, A (rank, in), B (out, rank); Hu et
al., 2021. With rank 0, the linear layers themselves are trained. Texts of one batch are padded to the longest; the padding is
masked out of the attention."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import half
import safetensors

HIDDEN, HEADS = 384, 12
LINEARS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}


class LoraLinear(nn.Module):
    def __init__(self, weight, bias, rank, alpha):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight, rank == 0), nn.Parameter(bias, rank == 0)
        self.rank = rank
        if rank == 0:
            return
        self.scale = alpha / rank
        self.a = nn.Parameter(torch.randn(rank, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.b = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, x):  # (rows, in) to (rows, out)
        if self.rank == 0:
            return F.linear(x, self.weight, self.bias)
        if x.is_cuda:  # a batch there has many more rows than the weight, so one product is faster than three
            return F.linear(x, self.weight + self.b @ self.a * self.scale, self.bias)
        return F.linear(x, self.weight, self.bias) + F.linear(F.linear(x, self.a), self.b * self.scale)


class Layer(nn.Module):
    def __init__(self, tensors, prefix, rank, alpha):
        super().__init__()
        for name, path in LINEARS.items():
            weight, bias = (torch.from_numpy(tensors[f"{prefix}{path}.{part}"]) for part in ("weight", "bias"))
            setattr(self, name, LoraLinear(weight, bias, rank, alpha))
        self.norm_attention = fixed_norm(tensors, prefix + "attention.output.LayerNorm")
        self.norm_output = fixed_norm(tensors, prefix + "output.LayerNorm")

    def forward(self, x, far, dropout):  # x (texts, tokens, hidden); far (texts, 1, 1, tokens)
        texts, tokens, _ = x.shape
        split = lambda y: y.view(texts, tokens, HEADS, HIDDEN // HEADS).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        if x.is_cuda:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=far.to(q.dtype))
        else:
            mixed = (q @ k.transpose(-1, -2) / math.sqrt(HIDDEN // HEADS) + far).softmax(-1) @ v
        mixed = mixed.transpose(1, 2).reshape(texts, tokens, HIDDEN)
        x = self.norm_attention(x + F.dropout(self.out(mixed), dropout, self.training))
        return self.norm_output(x + F.dropout(self.down(F.gelu(self.up(x))), dropout, self.training))


class Trunk(nn.Module):
    def __init__(self, model_file, rank, alpha, dropout=0.0, in_half=False):
        super().__init__()
        self.in_half = in_half  # in bfloat16 and without dropout
        tensors = safetensors.read(model_file)
        self.rank, self.alpha, self.dropout = rank, alpha, dropout
        fixed = lambda name: nn.Parameter(torch.from_numpy(tensors["embeddings." + name + ".weight"]), False)
        self.word, self.position = fixed("word_embeddings"), fixed("position_embeddings")
        self.segment = fixed("token_type_embeddings")
        self.norm = fixed_norm(tensors, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(
            Layer(tensors, f"encoder.layer.{i}.", rank, alpha)
            for i in range(sum(name.endswith(".intermediate.dense.weight") for name in tensors))
        )

    def forward(self, ids, segments, mask, after=()):
        """Converts ids, segments and mask, each (texts, tokens), to states (texts, tokens, hidden). Returns them, and a
        dict of the states after each number of layers in `after`."""
        early = {}
        x = F.embedding(ids, self.word) + self.position[: ids.shape[1]] + F.embedding(segments, self.segment)
        x = F.dropout(self.norm(x), self.dropout, self.training)
        far = (1 - mask)[:, None, None, :] * -1e9
        if self.in_half:
            y = x.flatten(0, 1).to(half.HALF)
            for layer in self.layers:
                y = half.layer(layer, y, far, *ids.shape, HEADS)
            return y.float().view(x.shape), early
        for i, layer in enumerate(self.layers, 1):
            x = layer(x, far, self.dropout)
            if i in after:
                early[i] = x
        return x, early

    def merge(self):
        """Adds the adapter to the weights, so that texts are read in two thirds of the time. It cannot be trained any more."""
        for linear in self.modules():
            if isinstance(linear, LoraLinear) and linear.rank:
                linear.weight.data += linear.b.data @ linear.a.data * linear.scale
                linear.rank = 0

    def adapter_tensors(self):
        """Returns the adapter's tensors under PEFT's names."""
        out = {}
        for i, layer in enumerate(self.layers):
            for name, path in LINEARS.items():
                linear = getattr(layer, name)
                prefix = f"base_model.model.encoder.layer.{i}.{path}."
                out[prefix + "lora_A.weight"] = linear.a.detach().cpu().numpy().astype(np.float16)
                out[prefix + "lora_B.weight"] = linear.b.detach().cpu().numpy().astype(np.float16)
        return out


def fixed_norm(tensors, name):
    norm = nn.LayerNorm(HIDDEN, eps=1e-12)
    norm.weight.data = torch.from_numpy(tensors[name + ".weight"])
    norm.bias.data = torch.from_numpy(tensors[name + ".bias"])
    return norm.requires_grad_(False)


PART, STEP = 64, 32  # tokens in a part; tokens between the beginnings of two parts


def parts(states, mask):
    """Returns the mean of each part of each text, and a mask of the parts that exist: (texts, tokens, hidden) to (texts,
    parts, hidden), (texts, parts). The last part ends where its text ends. A text shorter than a part is a single part."""
    lengths = mask.sum(1).long()
    count = 1 + ((lengths - PART).clamp(min=0) + STEP - 1) // STEP
    index = torch.arange(int(count.max()), device=states.device)
    begin = torch.minimum(index * STEP, (lengths - PART).clamp(min=0)[:, None])  # (texts, parts)
    end = torch.minimum(begin + PART, lengths[:, None])
    sums = F.pad((states * mask[..., None]).cumsum(1), (0, 0, 1, 0))  # sums over the tokens before each position
    at = lambda where: sums.gather(1, where[..., None].expand(-1, -1, states.shape[-1]))
    return (at(end) - at(begin)) / (end - begin)[..., None], index < count[:, None]


class StrongestPart(nn.Module):
    """Classifies a text by the part that differs most from class 0. In the mean over a page, an attack of one line would get
    lost."""

    def __init__(self, classes):
        super().__init__()
        self.dense, self.classifier = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, classes)

    def of_parts(self, states, mask):
        """Returns the logits of all parts, and a mask of the parts that exist: (texts, tokens, hidden) to (texts, parts,
        classes), (texts, parts)."""
        means, there = parts(states, mask)
        return self.classifier(F.gelu(self.dense(means))), there

    @staticmethod
    def strongest(logits, there):  # (texts, parts, classes), (texts, parts) to (texts, classes)
        away = (logits[..., 1:].amax(-1) - logits[..., 0]).masked_fill(~there, -math.inf)
        strongest = away.argmax(1)[:, None, None].expand(-1, 1, logits.shape[-1])
        return logits.gather(1, strongest)[:, 0]


def pooled(states, mask):
    """Returns the mean over a text's tokens: (texts, tokens, hidden) to (texts, hidden)."""
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
