#!/usr/bin/python3
"""torch_parity.py DIR: computes in PyTorch what parity_dump computed in Heed, and compares.

The models are written down from their papers, with functions alone, and take their parameters from
the dump. PyTorch computes in double precision, so what differs is Heed's rounding. Returns 1 unless
logits, loss, every gradient and the losses of ten steps of Adam agree, 2 if DIR cannot be read.
"""

import json
import math
import pathlib
import sys

import torch
from torch.nn import functional as F

TOLERANCE = 1e-4


class Dump:
    """A folder written by parity_dump: settings and tensors by name."""

    def __init__(self, folder):
        manifest = json.loads((folder / "manifest.json").read_text())
        self.settings = manifest["settings"]
        self.entries = manifest["tensors"]
        self.data = bytearray((folder / "tensors.bin").read_bytes())

    def tensor(self, name):
        entry = self.entries[name]
        dtype, target = {"f32": (torch.float32, torch.float64),
                         "i32": (torch.int32, torch.int64)}[entry["dtype"]]
        count = math.prod(entry["shape"])
        flat = torch.frombuffer(self.data, dtype=dtype, count=count, offset=entry["offset"])
        return flat.to(target).reshape(entry["shape"])

    def group(self, prefix):
        """All tensors below a prefix, by the rest of their names."""
        return {name[len(prefix):]: self.tensor(name)
                for name in self.entries if name.startswith(prefix)}


class Network:
    """The layers of both papers over parameters that are found by name."""

    def __init__(self, dump):
        self.settings = dump.settings
        self.parameters = {name: value.requires_grad_()
                           for name, value in dump.group("parameter/").items()}

    def linear(self, name, x):
        return F.linear(x, self.parameters[name + ".weight"], self.parameters[name + ".bias"])

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.parameters[name + ".weight"],
                            self.parameters[name + ".bias"], 1e-5)

    def attention(self, query, key, value, hidden):
        """softmax(Q K^T / sqrt(d)) V in each head; `hidden` is true where a key is not seen."""
        def split(x):
            return x.unflatten(-1, (self.settings["heads"], -1)).transpose(1, 2)  # [B,H,T,D]

        q, k, v = split(query), split(key), split(value)
        logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # [B,H,Tq,Tk]
        weights = F.softmax(logits.masked_fill(hidden, -math.inf), dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)  # [B,Tq,C]

    def self_attention(self, name, x, hidden):
        query, key, value = self.linear(name + ".qkv", x).chunk(3, dim=-1)
        return self.linear(name + ".out", self.attention(query, key, value, hidden))

    def cross_attention(self, name, x, memory, hidden):
        key, value = self.linear(name + ".kv", memory).chunk(2, dim=-1)
        mixed = self.attention(self.linear(name + ".q", x), key, value, hidden)
        return self.linear(name + ".out", mixed)

    def feed_forward(self, name, x, activation):
        return self.linear(name + ".linear2", activation(self.linear(name + ".linear1", x)))


def causal(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


class Transformer(Network):
    """Vaswani et al. 2017; the norms stand behind each sum, or in front of each branch."""

    def __init__(self, dump):
        super().__init__(dump)
        self.source = dump.tensor("source")
        self.input = dump.tensor("input")
        steps = torch.arange(self.source.shape[1])
        padding = steps[None] >= dump.tensor("lengths")[:, None]  # [B,S]
        self.padding = padding[:, None, None]  # [B,1,1,S]

    def embed(self, tokens):
        table = self.parameters["embedding.weight"]
        width = table.shape[1]
        steps = torch.arange(tokens.shape[1], dtype=torch.float64)[:, None]
        angles = steps / 10000.0 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
        positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # [T,C]
        return F.embedding(tokens, table) * math.sqrt(width) + positions

    def residual(self, norm, x, branch):
        if self.settings["pre_norm"]:
            return x + branch(self.norm(norm, x))
        return self.norm(norm, x + branch(x))

    def encode(self):
        x = self.embed(self.source)
        for i in range(self.settings["encoder_layers"]):
            layer = f"encoder.{i}."
            x = self.residual(layer + "norm1", x, lambda y: self.self_attention(
                layer + "self_attention", y, self.padding))
            x = self.residual(layer + "norm3", x, lambda y: self.feed_forward(
                layer + "feed_forward", y, F.relu))
        return self.norm("encoder.norm", x)

    def logits(self):
        memory = self.encode()
        x = self.embed(self.input)
        hidden = causal(self.input.shape[1])
        for i in range(self.settings["decoder_layers"]):
            layer = f"decoder.{i}."
            x = self.residual(layer + "norm1", x, lambda y: self.self_attention(
                layer + "self_attention", y, hidden))
            x = self.residual(layer + "norm2", x, lambda y: self.cross_attention(
                layer + "cross_attention", y, memory, self.padding))
            x = self.residual(layer + "norm3", x, lambda y: self.feed_forward(
                layer + "feed_forward", y, F.relu))
        return F.linear(self.norm("decoder.norm", x), self.parameters["embedding.weight"])


class Gpt(Network):
    """Radford et al. 2019."""

    def __init__(self, dump):
        super().__init__(dump)
        self.input = dump.tensor("input")

    def logits(self):
        length = self.input.shape[1]
        x = F.embedding(self.input, self.parameters["tokens.weight"])
        x = x + self.parameters["positions.weight"][:length]
        hidden = causal(length)
        for i in range(self.settings["layers"]):
            layer = f"layers.{i}."
            x = x + self.self_attention(layer + "self_attention", self.norm(layer + "norm1", x),
                                        hidden)
            x = x + self.feed_forward(layer + "feed_forward", self.norm(layer + "norm3", x),
                                      lambda y: F.gelu(y, approximate="tanh"))
        return F.linear(self.norm("norm", x), self.parameters["tokens.weight"])


MODELS = {"transformer": Transformer, "gpt": Gpt}


def loss_of(network, logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(),
                           ignore_index=network.settings["ignore"],
                           label_smoothing=network.settings["label_smoothing"])


def train(network, targets, steps):
    settings = network.settings
    optimizer = torch.optim.Adam(network.parameters.values(), lr=settings["learning_rate"],
                                 betas=(settings["beta1"], settings["beta2"]),
                                 eps=settings["epsilon"])
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(network, network.logits(), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def error(got, expected):
    """||got - expected|| / ||expected||; infinite for NaN, and for shapes that differ."""
    if got.shape != expected.shape:
        return math.inf
    value = ((got - expected).norm() / expected.norm().clamp_min(1e-30)).item()
    return math.inf if math.isnan(value) else value


def compare(folder):
    """Prints the worst error of each quantity; true if all are small."""
    dump = Dump(folder)
    network = MODELS[dump.settings["model"]](dump)
    targets = dump.tensor("targets")
    logits = network.logits()
    loss = loss_of(network, logits, targets)
    loss.backward()

    errors = {"logits": {"": error(dump.tensor("logits"), logits.detach())},
              "loss": {"": error(dump.tensor("loss").reshape([]), loss.detach())},
              "gradients": {}, "training": {}}
    gradients = dump.group("gradient/")
    if gradients.keys() != network.parameters.keys():
        raise KeyError("there is not one gradient for each parameter")
    for name, parameter in network.parameters.items():
        if parameter.grad is None:
            raise KeyError(f"parameter {name} is not used by the model in PyTorch")
        errors["gradients"][name] = error(gradients[name], parameter.grad)
    losses = dump.tensor("losses")
    for step, (got, expected) in enumerate(zip(losses, train(network, targets, len(losses)))):
        errors["training"][f"step {step + 1}"] = error(got, expected)

    for quantity, by_name in errors.items():
        worst = max(by_name, key=by_name.get)
        verdict = "" if by_name[worst] <= TOLERANCE else f"  FAILED: more than {TOLERANCE:g}"
        print(f"{folder.name:<24} {quantity:<10} {by_name[worst]:.2e}  {worst}{verdict}".rstrip())
    return all(value <= TOLERANCE for by_name in errors.values() for value in by_name.values())


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    torch.set_num_threads(1)  # the models are too small to share
    folders = sorted(path.parent for path in pathlib.Path(sys.argv[1]).glob("*/manifest.json"))
    if not folders:
        print(f"torch_parity: no dumps in {sys.argv[1]}; run parity_dump {sys.argv[1]} first",
              file=sys.stderr)
        return 2
    try:
        return 0 if all([compare(folder) for folder in folders]) else 1
    except (KeyError, ValueError, OSError) as fault:
        print(f"torch_parity: {fault!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
