"""Writes a trained adapter in the engine's formats: the adapter in PEFT's format, and a directory for each head.

    OUT/adapter_config.json, adapter_model.safetensors    float16
    OUT/TASK/config.json, model.safetensors                one linear layer, float32

To calibrate the scores, the weights of each head are divided by the temperature that fits the held-out texts best (Guo
et al., 2017)."""

import json
import random

import numpy as np
import torch
import torch.nn.functional as F

import corpus
import safetensors
import tokens
import train
import trunk


def write(out, model, heads, held, args):
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "adapter_config.json", {
        "peft_type": "LORA", "task_type": "FEATURE_EXTRACTION", "base_model_name_or_path":
        "sentence-transformers/all-MiniLM-L6-v2", "signalbox_trunk": "../minilm", "r": model.rank, "lora_alpha": model.alpha, "lora_dropout": 0.0,
        "bias": "none", "inference_mode": True, "fan_in_fan_out": False,
        "target_modules": list(trunk.LINEARS.values())})
    safetensors.write(out / "adapter_model.safetensors", model.adapter_tensors())
    for task, head in heads.items():
        heat = 1.0 if is_screen(task) else temperature(model, heads, task, held[task], args.limit)
        print(f"{task}: temperature {heat:.3f}", flush=True)
        write_head(out, task, head, heat)


def is_screen(task):
    return task.startswith("screen-")


def write_head(out, task, head, heat=1.0):
    directory = out / task
    directory.mkdir(exist_ok=True)
    of_tokens = task in corpus.TOKEN_TASKS
    labels = ["harmless", "attack"] if is_screen(task) else corpus.LABELS[task]
    config = {"model_type": "bert", "architectures": ["LinearForTokenClassification" if of_tokens else
                                "LinearForSequenceClassification"],
              "hidden_size": trunk.HIDDEN, "num_labels": len(labels),
              "id2label": {str(i): label for i, label in enumerate(labels)},
              "classifier_languages": ["en"]}  # those that the cards of the adapters have figures for
    if task == "jailbreak":
        config["classifier_unsupported_shift"] = -4.8  # chosen on the sets that the card of `attacks` names
    if is_screen(task):
        config["classifier_layers"] = int(task.removeprefix("screen-"))
    if task in corpus.PART_TASKS or is_screen(task):
        config |= {"classifier_pooling": "strongest_part", "classifier_part": trunk.PART,
                   "classifier_step": trunk.STEP, "classifier_activation": "gelu"}
    elif not of_tokens:
        config["classifier_pooling"] = "mean"
    write_json(directory / "config.json", config)
    tensors = {name: value.detach().cpu().numpy().astype(np.float32) for name, value in head.state_dict().items()}
    if "weight" in tensors:
        tensors = {f"classifier.{name}": value for name, value in tensors.items()}
    for name in ("classifier.bias", "classifier.weight"):
        tensors[name] = (tensors[name] / heat).astype(np.float32)
    safetensors.write(directory / "model.safetensors", tensors)


def read(directory):
    """Reads the files that write() wrote, so that train.py can continue from them."""
    names = {path: name for name, path in trunk.LINEARS.items()}
    adapter, heads = {}, {}
    for key, value in safetensors.read(directory / "adapter_model.safetensors").items():
        _, _, _, _, layer, path = key.removesuffix(".weight").split(".", 5)
        path, side = path.rsplit(".lora_", 1)
        adapter[f"layers.{layer}.{names[path]}.{side.lower()}"] = torch.from_numpy(value)
    for file in directory.glob("*/model.safetensors"):
        prefix = "" if "dense.weight" in (tensors := safetensors.read(file)) else "classifier."
        for name, value in tensors.items():
            heads[f"{file.parent.name}.{name.removeprefix(prefix)}"] = torch.from_numpy(value)
    return {"adapter": adapter, "heads": heads}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def temperature(model, heads, task, examples, limit):
    """Returns the temperature, from a fine grid, under which the true labels are most likely."""
    model.eval()
    logits, truths = [], []
    with torch.no_grad():
        rng = random.Random(0)
        examples = sorted(rng.sample(examples, min(1500, len(examples))), key=lambda e: len(e["ids"]))
        for at in range(0, len(examples), 32):
            part = examples[at : at + 32]
            batch = train.Batch([(*tokens.crop(e, limit, rng), e["label"]) for e in part], model.norm.weight.device)
            found = train.outputs(model, heads, task, batch)[0].logits.flatten(0, -2)
            keep = batch.truth.flatten() != -100
            logits.append(found[keep].cpu())
            truths.append(batch.truth.flatten()[keep].cpu())
    model.train()
    logits, truths = torch.cat(logits), torch.cat(truths)
    grid = np.geomspace(0.3, 4, 80)
    return float(min(grid, key=lambda heat: F.cross_entropy(logits / heat, truths).item()))
