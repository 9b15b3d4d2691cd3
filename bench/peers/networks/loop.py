"""Competent hand-written training: Dataset, DataLoader, Adam, one ticker after the other, default threads.

Usage: loop.py FEATURES PRICES OPTION EPOCHS, where EPOCHS is a JSON object: how many to run for each ticker, or for
`portfolio`. Prints the seconds of training and its number of steps as one JSON object.
"""

import copy
import json
import sys
import time

import numpy as np
import torch
from models import build
from panel import LOOKBACK, Dates, Windows, read_tickers, scaled, split
from torch.utils.data import DataLoader

BATCH = 64
CLIP = 1.0


def loss_of(model, batch, mean_label):
    """r2: squared errors over squared deviations from the mean of the training labels."""
    *inputs, y = batch
    counts = inputs[1] & torch.isfinite(y) if len(inputs) == 2 else torch.isfinite(y)
    p, y = model(*inputs)[counts], y[counts]
    return ((y - p) ** 2).sum() / torch.clamp(((y - mean_label) ** 2).sum(), min=0.1 * len(y))


def train(model, train_set, validation_set, epochs, mean_label):
    """Trains for that many epochs. Returns the weights of the best one and the number of steps."""
    loader = DataLoader(train_set, batch_size=BATCH, shuffle=True)
    validation_loader = DataLoader(validation_set, batch_size=BATCH)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    best, best_weights, steps = np.inf, None, 0
    for _ in range(epochs):
        model.train()
        losses = []
        for batch in loader:
            optimizer.zero_grad()
            loss = loss_of(model, batch, mean_label)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            losses.append(loss.item())
        steps += len(losses)
        model.eval()
        with torch.no_grad():
            validation = np.mean([loss_of(model, batch, mean_label).item() for batch in validation_loader])
        if validation < best:
            best, best_weights = validation, copy.deepcopy(model.state_dict())
    model.load_state_dict(best_weights)
    return steps


def predict(model, dataset):
    model.eval()
    with torch.no_grad():
        return [model(*inputs) for *inputs, _ in DataLoader(dataset, batch_size=BATCH)]


def per_ticker(tickers, option, epochs):
    steps, parameters = 0, 0
    for ticker in tickers:
        ends = split(ticker)
        x, y = scaled(ticker, ends[0])
        train_set, validation_set, score_set = (Windows(x, y, part) for part in ends)
        model = build(option, x.shape[1])
        steps += train(model, train_set, validation_set, epochs[ticker.name], float(y[ends[0]].mean()))
        predict(model, score_set)
        parameters = sum(p.numel() for p in model.parameters())
    return steps, parameters


def joint_sets(tickers):
    """Datasets over dates: training, validation, score."""
    parts = [split(ticker) for ticker in tickers]
    fit_dates = sorted({t.dates[i] for t, (a, b, _) in zip(tickers, parts) for i in (*a, *b)})
    last = {t.dates[-1] for t in tickers}
    later = sorted({d for t in tickers for d in t.dates[LOOKBACK - 1 :] if d > fit_dates[-1]} | last)
    cut = len(fit_dates) - max(1, int(0.2 * len(fit_dates)))
    row_of = [{date: i for i, date in enumerate(t.dates)} for t in tickers]
    trained = [np.arange(LOOKBACK - 1, np.searchsorted(t.dates, fit_dates[cut - 1])) for t in tickers]
    x, y = zip(*(scaled(t, rows) for t, rows in zip(tickers, trained)))
    mean_label = float(np.mean([float(labels[rows].mean()) for labels, rows in zip(y, trained)]))
    return [Dates(x, y, row_of, dates) for dates in (fit_dates[:cut], fit_dates[cut:], later)], mean_label


def joint(tickers, option, epochs):
    (train_set, validation_set, score_set), mean_label = joint_sets(tickers)
    model = build(option, train_set.x[0].shape[1])
    steps = train(model, train_set, validation_set, epochs["portfolio"], mean_label)
    predict(model, score_set)
    return steps, sum(p.numel() for p in model.parameters())


def main():
    feature_path, price_path, option, epochs = sys.argv[1:]
    # The first optimizer imports modules for seconds, which does not count as training.
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    tickers = read_tickers(feature_path, price_path)
    read = time.perf_counter()
    run = joint if option.startswith("portfolio_") else per_ticker
    steps, parameters = run(tickers, option, json.loads(epochs))
    seconds = time.perf_counter() - read
    print(json.dumps({"train": seconds, "steps": steps, "parameters": parameters}))


main()
