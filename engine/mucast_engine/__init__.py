"""Calls into the field's libraries: reads matrices from disk, fits and predicts, hands over predictions.

The package knows no calendar, no blob and no HTTP; everything that can be wrong about time is decided by its caller.
"""
