"""Three numbers come down in one copy."""

import torch
from workload import Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    history = []
    for step in steps:
        logits = model(tokens)
        loss = torch.nn.functional.cross_entropy(logits, labels)
        entropy = -(logits.softmax(dim=1) * logits.log_softmax(dim=1)).sum(dim=1).mean()
        correct = (logits.argmax(dim=1) == labels).float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_value, entropy_value, correct_value = torch.stack([loss, entropy, correct]).tolist()
        history.append((loss_value, entropy_value, correct_value))
    return sum(one[0] for one in history)
