"""Seconds of one bare training step on one thread: forward, loss, backward, clip, fused Adam on a batch in memory.

Usage: step.py OPTION FEATURES TICKERS STEPS. Prints a JSON object.
"""

import json
import sys
import time

import torch
from models import build
from panel import LOOKBACK

BATCH = 64


def step_seconds(option, features, tickers, steps):
    torch.manual_seed(0)
    model = build(option, features).train()
    shape = (BATCH, tickers) if option.startswith("portfolio_") else (BATCH,)
    inputs = [torch.randn(*shape, LOOKBACK, features)]
    if len(shape) == 2:
        inputs.append(torch.ones(shape, dtype=torch.bool))
    y = torch.randn(shape)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=True)
    started = 0.0
    for step in range(-5, steps):
        if step == 0:
            started = time.perf_counter()
        optimizer.zero_grad()
        loss = ((model(*inputs) - y) ** 2).sum() / (y**2).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return (time.perf_counter() - started) / steps


if __name__ == "__main__":
    torch.set_num_threads(1)
    option, *counts = sys.argv[1:]
    print(json.dumps({"step": step_seconds(option, *map(int, counts))}))
