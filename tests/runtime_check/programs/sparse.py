"""Sparse matrices: what is found, joined or flattened on the way, the host hears of. Files are under aten/src/ATen/."""

import hashlib

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
right = torch.ones(3, 2, device=DEVICE)
places = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
values = torch.tensor([3.0, 4.0, 5.0, 6.0])
matrix = torch.sparse_coo_tensor(places, values, (2, 3)).to(DEVICE)  # transfers: h2d 64 B x 1, h2d 16 B x 1
summed = torch.zeros(2, 2, device=DEVICE)
for _ in range(3):
    # native/sparse/cuda/SparseCUDATensor.cu: indices become numbers by factors from the host, `unique_by_key` waits
    summed += matrix @ right  # transfers: h2d 16 B x 3, wait 8 B x 3
joined = matrix.coalesce()  # transfers: h2d 16 B x 1, wait 8 B x 1
for _ in range(3):
    summed += joined @ right  # coalesced: nothing to join
found = (
    summed > 30
).to_sparse()  # native/TensorConversions.cpp: dense_to_sparse, by nonzero  # transfers: wait 4 B x 1
down = joined.cpu()  # transfers: d2h 48 B x 1, d2h 12 B x 1
digest = hashlib.sha256(summed.cpu().numpy().tobytes()).hexdigest()  # transfers: d2h 16 B x 1
print(found._nnz(), down.values().tolist(), digest)
