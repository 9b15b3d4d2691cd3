"""Calls into the field's libraries: matrices on disk in, predictions on disk out.

The package knows no calendar, no blob and no HTTP; everything that can be wrong about time is decided by its caller.
"""
