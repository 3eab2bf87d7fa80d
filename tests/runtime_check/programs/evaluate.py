"""Evaluation: predictions come down batch by batch, and are counted on the host and on the device."""

import hashlib

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
# Batch normalisation has four vectors of 6 floats and a count of batches, one 64-bit integer.
model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(216, 4))
model.to(DEVICE)  # transfers: h2d 216 B x 1, h2d 24 B x 5, h2d 8 B x 1, h2d 3456 B x 1, h2d 16 B x 1
model.eval()
images, labels = torch.randn(20, 1, 8, 8), torch.randint(0, 4, (20,))
correct, right, predictions = 0, 0, []
with torch.inference_mode():
    for start in range(0, 20, 5):
        scores = model(images[start : start + 5].to(DEVICE))  # transfers: h2d 1280 B x 4
        target = labels[start : start + 5].to(DEVICE)  # transfers: h2d 40 B x 4
        chosen = scores.argmax(1)
        correct += (chosen == target).sum().item()  # transfers: d2h 8 B x 4
        right += (chosen == target).sum()  # stays there: the first addition makes a device tensor of the host's 0
        predictions.extend(chosen.cpu().tolist())  # transfers: d2h 40 B x 4
        worst = scores.softmax(1).amin(1).cpu().numpy().min()  # transfers: d2h 20 B x 4
assert correct == int(right)  # transfers: d2h 8 B x 1
print(correct, predictions, float(worst))
print(hashlib.sha256(scores.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 80 B x 1
