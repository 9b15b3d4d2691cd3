"""Blobs to arrays as a user would read them: json, numpy, a loop over tickers."""

import json
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.preprocessing import RobustScaler
from torch.utils.data import Dataset

LOOKBACK = 10
VALIDATION_SHARE = 0.2


@dataclass
class Ticker:
    name: str
    dates: list  # (n) of the rows with all features, ascending
    x: np.ndarray  # (n, k)
    y: np.ndarray  # (n) next-day log-returns, NaN on the last price date
    fit: int  # rows [0, fit) have labels realised by the end of learning


def read_tickers(feature_path, price_path):
    with open(feature_path) as file:
        features = json.load(file)
    with open(price_path) as file:
        prices = json.load(file)
    row_of = {date: i for i, date in enumerate(prices["dates"])}
    dates = np.array(features["dates"])
    tickers = []
    for name, columns in sorted(features["features"].items()):
        x = np.array([[np.nan if v is None else v for v in column] for column in columns.values()], float).T
        price = np.array([prices["prices"][name][row_of[date]] or np.nan for date in dates], float)
        y = np.append(np.log(price[1:] / price[:-1]), np.nan)
        realised = np.append(dates[1:], "9999-12-31")
        whole = np.isfinite(x).all(axis=1) & np.isfinite(price)
        fit = int(np.sum(whole & (realised <= prices["Learning_end"])))
        tickers.append(Ticker(name, list(dates[whole]), x[whole], y[whole], fit))
    return tickers


def split(ticker):
    """Rows on which the training, the validation and the score windows end."""
    ends = np.arange(LOOKBACK - 1, len(ticker.x))
    fit, score = ends[ends < ticker.fit], ends[ends >= ticker.fit]
    validation = max(1, int(VALIDATION_SHARE * len(fit)))
    return fit[:-validation], fit[-validation:], score


def scaled(ticker, train):
    """Features scaled on the rows up to the last training window; labels in training standard deviations."""
    scaler = RobustScaler().fit(ticker.x[: train[-1] + 1])
    x = torch.tensor(scaler.transform(ticker.x), dtype=torch.float32)
    return x, torch.tensor(ticker.y / np.std(ticker.y[train]), dtype=torch.float32)


class Windows(Dataset):
    """One sample is the window of one ticker that ends on a row."""

    def __init__(self, x, y, ends):
        self.x, self.y, self.ends = x, y, ends

    def __len__(self):
        return len(self.ends)

    def __getitem__(self, i):
        end = self.ends[i]
        return self.x[end - LOOKBACK + 1 : end + 1], self.y[end]


class Dates(Dataset):
    """One sample is a date: the windows of all tickers that have one, zeros for the rest, and a mask that marks them."""

    def __init__(self, x, y, row_of, dates):
        self.x, self.y, self.row_of, self.dates = x, y, row_of, dates

    def __len__(self):
        return len(self.dates)

    def __getitem__(self, i):
        windows = torch.zeros(len(self.x), LOOKBACK, self.x[0].shape[1])
        labels = torch.zeros(len(self.x))
        present = torch.zeros(len(self.x), dtype=torch.bool)
        for t, rows in enumerate(self.row_of):
            end = rows.get(self.dates[i], -1)
            if end >= LOOKBACK - 1:
                windows[t] = self.x[t][end - LOOKBACK + 1 : end + 1]
                labels[t] = self.y[t][end]
                present[t] = True
        return windows, present, labels
