"""Ways to make a training step faster, each compared with the plain one in the same run, on one thread.

Usage: further.py OPTION FEATURES STEPS, where OPTION has one network per ticker. Prints a table: milliseconds of a
step of 64 windows of one ticker, the time of the plain step as a multiple of it, and seconds spent before the first
step.
"""

import copy
import sys
import time
import warnings

import torch
from models import build
from panel import LOOKBACK
from torch.func import functional_call, stack_module_state, vmap

warnings.filterwarnings("ignore")
BATCH = 64
STACKED = 8
REPEATS = 3


class Plain:
    """Forward, loss, backward, clip, Adam."""

    networks = 1
    adam = {}

    def __init__(self, option, features):
        torch.manual_seed(0)
        self.x, self.y = torch.randn(BATCH, LOOKBACK, features), torch.randn(BATCH)
        self.model = build(option, features).train()
        self.prepare()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.001, **self.adam)

    def prepare(self):
        pass

    def parameters(self):
        return list(self.model.parameters())

    def loss(self):
        return ((self.model(self.x) - self.y) ** 2).mean()

    def step(self):
        self.optimizer.zero_grad()
        self.loss().backward()
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizer.step()


class LoopedAdam(Plain):
    """Adam tensor by tensor."""

    adam = {"foreach": False}


class ManyTensorAdam(Plain):
    """Adam over lists of tensors, the usual one on a GPU."""

    adam = {"foreach": True}


class FusedAdam(Plain):
    """Adam in one kernel."""

    adam = {"fused": True}


class FlatFusedAdam(Plain):
    """All parameters are views of one vector, and so are their gradients: one kernel, one norm."""

    def prepare(self):
        own = list(self.model.parameters())
        self.flat = torch.nn.Parameter(torch.cat([p.detach().flatten() for p in own]))
        self.flat.grad = torch.zeros_like(self.flat)
        start = 0
        for p in own:
            here = slice(start, start + p.numel())
            p.data = self.flat.data[here].view_as(p)
            p.grad = self.flat.grad[here].view_as(p)
            start = here.stop

    adam = {"fused": True}

    def parameters(self):
        return [self.flat]

    def step(self):
        self.flat.grad.zero_()
        self.loss().backward()
        norm = self.flat.grad.norm()
        self.flat.grad.mul_(torch.clamp(1.0 / (norm + 1e-6), max=1.0))
        self.optimizer.step()


class Compiled(FusedAdam):
    """torch.compile of the network."""

    def prepare(self):
        self.forward = torch.compile(self.model)

    def loss(self):
        return ((self.forward(self.x) - self.y) ** 2).mean()


class BFloat16(FusedAdam):
    """Autocast to bfloat16; the weights stay float32."""

    def loss(self):
        with torch.autocast("cpu", torch.bfloat16):
            p = self.model(self.x)
        return ((p.float() - self.y) ** 2).mean()


class WithoutOneDnn(FusedAdam):
    """oneDNN switched off."""

    def step(self):
        with torch.backends.mkldnn.flags(enabled=False):
            super().step()


class LstmByHand(torch.nn.Module):
    """The cell of one nn.LSTM from matrix products; the products of the inputs are one product before the loop."""

    def __init__(self, layer):
        super().__init__()
        own = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
        self.own = torch.nn.ParameterList(own)

    def forward(self, x):
        w_in, w_state, b_in, b_state = self.own
        inputs = x @ w_in.T + (b_in + b_state)
        h = c = torch.zeros_like(inputs[:, 0, : w_state.shape[1]])
        states = []
        for t in range(x.shape[1]):
            i, f, g, o = (inputs[:, t] + h @ w_state.T).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        return torch.stack(states, dim=1), None


class CellsByHand(FusedAdam):
    """LSTM cells from matrix products, instead of PyTorch's fused ones."""

    def prepare(self):
        if not hasattr(self.model.encoder, "layers") or not isinstance(self.model.encoder.layers[0], torch.nn.LSTM):
            raise TypeError("has no LSTM")
        self.model.encoder.layers = torch.nn.ModuleList(map(LstmByHand, self.model.encoder.layers))


class CompiledCells(CellsByHand):
    """The same, compiled."""

    def prepare(self):
        super().prepare()
        self.forward = torch.compile(self.model)

    def loss(self):
        return ((self.forward(self.x) - self.y) ** 2).mean()


class Stacked(FusedAdam):
    """Networks of several tickers at once, with vmap over stacked weights: the same maths, larger operations."""

    networks = STACKED

    def prepare(self):
        if hasattr(self.model.encoder, "layers") and isinstance(self.model.encoder.layers[0], torch.nn.LSTM):
            # vmap has no rule for PyTorch's own.
            CellsByHand.prepare(self)
        models = [self.model] + [copy.deepcopy(self.model) for _ in range(STACKED - 1)]
        self.weights, self.buffers = stack_module_state(models)
        self.x = self.x.expand(STACKED, *self.x.shape).contiguous()
        self.y = self.y.expand(STACKED, -1).contiguous()
        self.one = vmap(
            lambda weights, buffers, x: functional_call(self.model, (weights, buffers), (x,)), randomness="different"
        )

    def parameters(self):
        return list(self.weights.values())

    def loss(self):
        return ((self.one(self.weights, self.buffers, self.x) - self.y) ** 2).mean(dim=1).sum()


class Sharing(FusedAdam):
    """One network on a batch of several tickers: other maths, the most that larger batches could give."""

    networks = STACKED

    def prepare(self):
        self.x, self.y = self.x.repeat(STACKED, 1, 1), self.y.repeat(STACKED)


WAYS = [
    Plain,
    LoopedAdam,
    ManyTensorAdam,
    FusedAdam,
    FlatFusedAdam,
    Compiled,
    CellsByHand,
    CompiledCells,
    BFloat16,
    WithoutOneDnn,
    Stacked,
    Sharing,
]


def measure(way, steps):
    """Milliseconds of a step, by network."""
    started = time.perf_counter()
    for _ in range(steps):
        way.step()
    return (time.perf_counter() - started) / steps / way.networks * 1_000


def main():
    option, features, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    FusedAdam(option, features).step()  # Imports what the first optimizer needs.
    ready = []
    print(f"{option}, {features} features, {STACKED} networks where stacked, one thread")
    for kind in WAYS:
        started = time.perf_counter()
        try:
            way = kind(option, features)
            for _ in range(3):
                way.step()
        except Exception as error:
            print(f"{kind.__name__:16} cannot: {str(error).strip().splitlines()[0][:100]}")
            continue
        ready.append((way, time.perf_counter() - started))
    best = [float("inf")] * len(ready)
    for _ in range(REPEATS):
        for i, (way, _) in enumerate(ready):
            best[i] = min(best[i], measure(way, max(3, steps // way.networks)))
    print(f"{'':16} {'ms':>8} {'times plain':>12} {'first steps s':>14}")
    for (way, first), milliseconds in zip(ready, best):
        print(f"{type(way).__name__:16} {milliseconds:8.3f} {best[0] / milliseconds:12.2f} {first:14.2f}")


main()
