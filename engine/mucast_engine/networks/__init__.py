"""The networks, their losses and their training, in PyTorch."""
