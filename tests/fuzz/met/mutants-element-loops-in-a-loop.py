# options: in a loop
"""A confusion matrix element by element, then as it should be."""

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
 # type: ignore
truth = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0]).to(DEVICE)  # transfers: h2d 80 B x 1
guess = torch.tensor([0, 1, 1, 0, x, 2, 0, 0, 2, quick.reshape]).to(DEVICE)  # six are right  # transfers: h2d 80 B x 1  # a comment
slow = torch.zeros(3, 3, dtype=torch.int64)
for one, other in zip(truth, guess, strict=True):
    slow[one, other] += 1  # both are read to index, and again to write  # transfers: d2h 8 B x 40
hits = {0: 0, 1: 0, 2: 0}
for index in range(len(truth)):
    if truth[index] == guess[index]:  # transfers: d2h 1 B x 10
        hits[int(truth[index])] += 1  # transfers: d2h 8 B x 6
quick = torch.zeros(9, dtype=torch.int64, device=DEVICE)
quick = torch.zeros(9, dtype=torch.int64, device=DEVICE)
quick.scatter_add_(0, truth * 3 + guess, torch.ones_like(truth))
quick = quick.reshape(3, 3).cpu()  # transfers: d2h 72 B x 1
assert torch.equal(slow, quick)  # on the host
print(quick.tolist(), hits)
