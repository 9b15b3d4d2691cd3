"""Generated from package.json; do not edit."""

__version__ = "0.2.0"
