"""Calls into the field's libraries: reads matrices from disk, fits and predicts, and returns predictions.

The package knows no calendar, no blob and no HTTP: its caller decides everything about time.
"""
