#!/usr/bin/python3
"""folder_parity.py DIR: opens the model folders that parity_dump wrote as their file format says
they are to be read, computes them in PyTorch, and compares the outputs with Heed's.

Names, layouts and options are those of Hugging Face's GPT-2 and BERT: nothing here knows Heed's own.
Returns 1 unless every output is within 1e-4, 2 if DIR cannot be read.
"""

import json
import math
import pathlib
import sys

import torch
from torch.nn import functional as F

from torch_parity import Dump

TOLERANCE = 1e-4
ACTIVATIONS = {"gelu": F.gelu, "gelu_new": lambda x: F.gelu(x, approximate="tanh")}


def read_safetensors(file):
    data = bytearray(file.read_bytes())
    length = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", f"{name} is {entry['dtype']}"
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4,
                                offset=8 + length + begin)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def attention(query, key, value, heads, hidden):
    def split(x):
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    q, k, v = split(query), split(key), split(value)
    logits = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf)
    return (F.softmax(logits, dim=-1) @ v).transpose(1, 2).flatten(2)


class Folder:
    def __init__(self, path):
        self.config = json.loads((path / "config.json").read_text())
        self.tensors = read_safetensors(path / "model.safetensors")

    def norm(self, name, x, epsilon):
        return F.layer_norm(x, x.shape[-1:], self.tensors[name + ".weight"],
                            self.tensors[name + ".bias"], epsilon)

    def linear(self, name, x):
        return F.linear(x, self.tensors[name + ".weight"], self.tensors[name + ".bias"])


def gpt2(folder, dump):
    config, tensors = folder.config, folder.tensors
    assert config["architectures"] == ["GPT2LMHeadModel"] and config["tie_word_embeddings"]

    def conv1d(name, x):  # [in,out], as GPT-2's first program had it
        return x @ tensors[name + ".weight"] + tensors[name + ".bias"]

    def norm(name, x):
        return folder.norm(name, x, config["layer_norm_epsilon"])

    tokens = dump.tensor("tokens")
    length = tokens.shape[1]
    x = tensors["transformer.wte.weight"][tokens] + tensors["transformer.wpe.weight"][:length]
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    for i in range(config["n_layer"]):
        block = f"transformer.h.{i}."
        q, k, v = conv1d(block + "attn.c_attn", norm(block + "ln_1", x)).chunk(3, dim=-1)
        x = x + conv1d(block + "attn.c_proj", attention(q, k, v, config["n_head"], future))
        hidden = ACTIVATIONS[config["activation_function"]](
            conv1d(block + "mlp.c_fc", norm(block + "ln_2", x)))
        x = x + conv1d(block + "mlp.c_proj", hidden)
    return {"logits": norm("transformer.ln_f", x) @ tensors["transformer.wte.weight"].T}


def bert(folder, dump):
    config, tensors = folder.config, folder.tensors
    assert config["architectures"] == ["BertForPreTraining"]
    activation = ACTIVATIONS[config["hidden_act"]]

    def norm(name, x):
        return folder.norm(name, x, config["layer_norm_eps"])

    tokens = dump.tensor("tokens")
    table = tensors["bert.embeddings.word_embeddings.weight"]
    x = norm("bert.embeddings.LayerNorm",
             table[tokens]
             + tensors["bert.embeddings.token_type_embeddings.weight"][dump.tensor("types")]
             + tensors["bert.embeddings.position_embeddings.weight"][:tokens.shape[1]])
    padding = torch.arange(tokens.shape[1])[None] >= dump.tensor("lengths")[:, None]
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}."
        q, k, v = (folder.linear(layer + "attention.self." + part, x)
                   for part in ("query", "key", "value"))
        mixed = attention(q, k, v, config["num_attention_heads"], padding[:, None, None])
        x = norm(layer + "attention.output.LayerNorm",
                 x + folder.linear(layer + "attention.output.dense", mixed))
        hidden = activation(folder.linear(layer + "intermediate.dense", x))
        x = norm(layer + "output.LayerNorm", x + folder.linear(layer + "output.dense", hidden))
    head = "cls.predictions."
    y = norm(head + "transform.LayerNorm",
             activation(folder.linear(head + "transform.dense", x)))
    words = (y @ table.T + tensors[head + "bias"]).flatten(0, 1)[dump.tensor("places")]
    pooled = torch.tanh(folder.linear("bert.pooler.dense", x[:, 0]))
    return {"words": words, "follows": folder.linear("cls.seq_relationship", pooled)}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    torch.set_num_threads(1)
    good = True
    for name, compute in (("gpt2", gpt2), ("bert", bert)):
        path = pathlib.Path(sys.argv[1]) / name
        try:
            dump = Dump(path)
            outputs = compute(Folder(path), dump)
        except (KeyError, ValueError, OSError, AssertionError) as fault:
            print(f"folder_parity: {path}: {fault!r}", file=sys.stderr)
            return 2
        for what, expected in outputs.items():
            worst = (dump.tensor(what) - expected).abs().max().item()
            verdict = "" if worst <= TOLERANCE else f"  FAILED: more than {TOLERANCE:g}"
            print(f"{name:<8} {what:<8} largest difference {worst:.2e}{verdict}")
            good = good and worst <= TOLERANCE
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
