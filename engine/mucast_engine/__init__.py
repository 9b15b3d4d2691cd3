"""Calls into the field's libraries: reads matrices from disk, fits and predicts, writes predictions to disk.

The package knows no calendar, no blob and no HTTP; everything that can be wrong about time is decided by its caller.
"""
