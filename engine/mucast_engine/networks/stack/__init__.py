"""Many networks of one shape as one, for a GPU: the same maths as one by one, in batched matrices."""
