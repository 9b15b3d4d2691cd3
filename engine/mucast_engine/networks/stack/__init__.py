"""Trains many networks of one shape together, for a GPU: the same maths as one by one, in batched matrices."""
