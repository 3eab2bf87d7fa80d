"""k-means: the device computes, the host asks after each round whether it is done."""

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
points = torch.cat([torch.rand(6, 2), torch.rand(6, 2) + 5]).to(DEVICE)  # transfers: h2d 96 B x 1
centres = points[[0, 6]].clone()  # one in each heap: settled after the first round  # transfers: h2d 16 B x 1
rounds, moved = 0, torch.tensor(float("inf"), device=DEVICE)  # transfers: h2d 4 B x 1
while moved > 1e-4:  # transfers: d2h 1 B x 3
    nearest = torch.cdist(points, centres).argmin(1)
    before = centres.clone()
    for number in range(2):
        members = points[nearest == number]  # transfers: wait 4 B x 4
        if len(members):
            centres[number] = members.mean(0)
    moved = (centres - before).norm()
    rounds += 1
    if moved.item() > 1e6:  # transfers: d2h 4 B x 2
        raise RuntimeError("diverged")
print(rounds, nearest.tolist())  # transfers: d2h 96 B x 1
print(*(f"{value:.6f}" for value in centres.reshape(-1).tolist()))  # transfers: d2h 16 B x 1
