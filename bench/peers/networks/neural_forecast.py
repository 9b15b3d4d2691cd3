"""Networks of comparable size in neuralforecast, trained for as many steps, one ticker after the other, default threads.

A step samples 64 windows. Its layers all have one width, `cnn` is its temporal convolutional network, and every network
also sees the past returns. Its transformers accept no past features.

Usage: neural_forecast.py FEATURES PRICES OPTION EPOCHS, as for loop.py, and prints the same.
"""

import json
import logging
import os
import sys
import time
import warnings

import numpy as np
import pandas as pd
from neuralforecast import NeuralForecast, models
from neuralforecast.losses.pytorch import MSE

LOOKBACK = 10
BATCH = 64
SIZES = {
    "lstm": dict(encoder_n_layers=2, encoder_hidden_size=64, encoder_dropout=0.2, decoder_layers=0),
    "mlp": dict(num_layers=2, hidden_size=128),
    "cnn": dict(kernel_size=3, dilations=[1, 2], encoder_hidden_size=64, decoder_layers=0),
}
CLASSES = {"lstm": models.LSTM, "mlp": models.MLP, "cnn": models.TCN}
QUIET = dict(logger=False, enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)


def frame_of(name, columns, price, dates, end):
    """Features and returns known at the close of each date up to the end of learning, as a long frame."""
    frame = pd.DataFrame(columns, index=dates, dtype=float)
    frame["y"] = np.log(pd.Series(price, index=dates, dtype=float)).diff()
    frame = frame.dropna()[:end]
    frame.insert(0, "ds", np.arange(len(frame)))
    frame.insert(0, "unique_id", name)
    return frame.reset_index(drop=True)


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ["NIXTLA_ID_AS_COL"] = "1"
    feature_path, price_path, option, epochs = sys.argv[1:]
    epochs = json.loads(epochs)
    with open(feature_path) as file:
        blob = json.load(file)
    with open(price_path) as file:
        prices = json.load(file)
    row_of = {date: i for i, date in enumerate(prices["dates"])}
    frames = {}
    for name, columns in sorted(blob["features"].items()):
        price = [prices["prices"][name][row_of[date]] for date in blob["dates"]]
        frames[name] = frame_of(name, columns, price, blob["dates"], prices["Learning_end"])
    read = time.perf_counter()
    steps, parameters = 0, 0
    for name, frame in frames.items():
        validation = int(0.2 * (len(frame) - LOOKBACK))
        steps_an_epoch = -(-(len(frame) - LOOKBACK - validation) // BATCH)
        model = CLASSES[option](
            h=1,
            input_size=LOOKBACK,
            hist_exog_list=[column for column in frame.columns if column not in ("unique_id", "ds", "y")],
            loss=MSE(),
            max_steps=epochs[name] * steps_an_epoch,
            val_check_steps=steps_an_epoch,
            learning_rate=0.001,
            batch_size=1,
            windows_batch_size=BATCH,
            scaler_type="robust",
            accelerator="cpu",
            gradient_clip_val=1.0,
            **SIZES[option],
            **QUIET,
        )
        NeuralForecast(models=[model], freq=1).fit(frame, val_size=validation)
        steps += model.max_steps
        parameters = sum(p.numel() for p in model.parameters())
    seconds = time.perf_counter() - read
    print(json.dumps({"train": seconds, "steps": steps, "parameters": parameters}))


main()
