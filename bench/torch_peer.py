#!/usr/bin/python3
"""The cases of `heed bench` in PyTorch, for bench/compare.sh.

usage: torch_peer.py CASE [--threads N] [--dtype f32|bf16] [--reps N]

Prints one line: case, dtype, tokens/s (best of the repetitions), peak resident memory, threads.
bf16 is autocast, except for gpt-decode, whose weights are bf16 (autocast would convert them at every step).
Uses Debian's libopenblas0-openmp where it is installed: with the build on pthreads two thread pools fight over the cores.
"""
import argparse
import glob
import math
import os
import resource
import sys
import time


def use_openmp_blas():
    folders = glob.glob("/usr/lib/*/openblas-openmp")
    path = os.environ.get("LD_LIBRARY_PATH", "")
    if folders and folders[0] not in path:
        os.environ["LD_LIBRARY_PATH"] = folders[0]
        os.execv(sys.executable, [sys.executable, *sys.argv])


use_openmp_blas()
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def future(length):
    """True where a position must not look."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


class PreNormLayer(nn.Module):
    """GPT-2's layer; without `causal` it is the encoder's."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm_attention, self.norm_hidden = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x, past):
        batch, length, width = x.shape
        heads = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        if past is not None:
            if past:
                k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
            past[:] = (k, v)
        logits = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        if self.causal and length > 1:
            logits = logits.masked_fill(future(length), -math.inf)
        mixed = logits.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, past=None):
        x = x + self.attend(self.norm_attention(x), past)
        return x + self.down(F.gelu(self.up(self.norm_hidden(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, vocabulary=50257, context=1024, width=768, heads=12, layers=12):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.layers = nn.ModuleList(PreNormLayer(width, heads, True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, pasts=None, start=0):
        x = self.tokens(ids) + self.positions(torch.arange(start, start + ids.shape[1]))
        for i, layer in enumerate(self.layers):
            x = layer(x, None if pasts is None else pasts[i])
        return self.norm(x) @ self.tokens.weight.t()


class Translator(nn.Module):
    """Transformer base with one embedding for source, target and output."""

    def __init__(self, vocabulary=8000, width=512):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(width, 8, 6, 6, 2048, 0.1, batch_first=True)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        states = self.transformer(self.embedding(source), self.embedding(target), tgt_mask=mask)
        return states @ self.embedding.weight.t()


def trainer(model, loss_of, autocast):
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98))

    def step():
        adam.zero_grad(set_to_none=True)
        with autocast:
            loss = loss_of()
        loss.backward()
        adam.step()

    return step


def mt_train(_, autocast):
    model = Translator()
    source, target = torch.randint(8000, (64, 32)), torch.randint(8000, (64, 33))

    def loss():
        logits = model(source, target[:, :-1]).float().flatten(0, 1)
        return F.cross_entropy(logits, target[:, 1:].flatten(), label_smoothing=0.1)

    return trainer(model, loss, autocast), 64 * 64


def gpt_train(_, autocast):
    model, text = Gpt2(), torch.randint(50257, (4, 257))

    def loss():
        return F.cross_entropy(model(text[:, :-1]).float().flatten(0, 1), text[:, 1:].flatten())

    return trainer(model, loss, autocast), 4 * 256


def gpt_decode(dtype, _):
    model = Gpt2().eval().to(torch.bfloat16 if dtype == "bf16" else torch.float32)

    @torch.inference_mode()
    def generate():
        ids, pasts, start = torch.randint(50257, (1, 16)), [[] for _ in model.layers], 0
        for _ in range(128):
            logits = model(ids, pasts, start)
            start += ids.shape[1]
            ids = logits[:, -1].argmax(-1, keepdim=True)

    return generate, 128


def bert_embed(_, autocast):
    model = nn.Sequential(*(PreNormLayer(768, 12, False) for _ in range(12))).eval()
    x = torch.randn(32, 64, 768)

    @torch.inference_mode()
    def encode():
        with autocast:
            model(x)

    return encode, 32 * 64


def attention(relative):
    def make(_, autocast):
        length, width, heads = 2048, 512, 8
        dim = width // heads
        project = nn.Linear(width, 3 * width)
        table = nn.Parameter(torch.randn(heads, length, dim) * 0.02)
        x, hidden = torch.randn(1, length, width, requires_grad=True), future(length)

        def run():
            with autocast:
                q, k, v = project(x).view(1, length, 3, heads, dim).permute(2, 0, 3, 1, 4)
                logits = q @ k.transpose(-1, -2)
                if relative:  # the skewing of the Music Transformer
                    skewed = F.pad(q @ table.transpose(-1, -2), (1, 0))
                    logits = logits + skewed.view(1, heads, length + 1, length)[:, :, 1:]
                logits = (logits / math.sqrt(dim)).masked_fill(hidden, -math.inf)
                y = logits.softmax(-1) @ v
            y.float().sum().backward()

        return run, length

    return make


CASES = {
    "mt-train": mt_train,
    "gpt-train": gpt_train,
    "gpt-decode": gpt_decode,
    "bert-embed": bert_embed,
    "attn": attention(False),
    "rel-attn": attention(True),
}


def best_time(run, repetitions):
    run()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--reps", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.dtype == "bf16")
    run, tokens = CASES[args.case](args.dtype, autocast)
    rate = tokens / best_time(run, args.reps)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{args.case} {args.dtype} {rate:.1f} tokens/s, peak {peak} MiB, {args.threads} threads")


if __name__ == "__main__":
    main()
