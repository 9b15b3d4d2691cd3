"""One network on all tickers: a sample is a date with the tickers that have a window there."""
