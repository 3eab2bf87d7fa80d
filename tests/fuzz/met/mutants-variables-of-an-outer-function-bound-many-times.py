# options: in a function
"""A variable of the function around that each copy binds again, and what is asked of it."""
import torch
def train(model, loader, optimizer, counts: list):
    class_weights = torch.tensor(counts).float()
    for x in x:
        x(
            model(x.to(device)),
            y.to(device),
            weight=class_weights.to(device),
        )
table = torch.linspace(0, 1, 1024)
device = table.to(1)
