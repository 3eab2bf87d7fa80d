"""Indexing with what lies on the host sends it up, every time."""

import numpy as np
import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

x = torch.arange(12.0, device=DEVICE).reshape(3, 4)
rows = torch.tensor([0, 2])
there = rows.to(DEVICE)  # transfers: h2d 16 B x 1
results = []
for _ in range(3):
    results.append(x[[0, 2]])  # transfers: h2d 16 B x 3
    results.append(x[rows])  # transfers: h2d 16 B x 3
    results.append(x[there])
    results.append(x.index_select(0, there))
results.append(x[np.array([0, 2])])  # transfers: h2d 16 B x 1
results.append(x[rows, torch.tensor([1, 3])])  # transfers: h2d 16 B x 2
# Four bools go up, and become indices there.
results.append(x[:, [True, False, True, False]])  # transfers: h2d 4 B x 1, wait 4 B x 1
# A host mask becomes indices on the host, in pinned memory, which go up without waiting (IndexingUtils.h).
results.append(x[torch.tensor([True, False, True])])  # transfers: h2d 16 B x 1 async
# Two dimensions, four places: 4 x 2 indices.
results.append(x[x.cpu() > 7])  # transfers: d2h 48 B x 1, h2d 64 B x 1 async
results.append(x[rows[1]])  # a host tensor without dimensions is a number
results += [x[1], x[-1, 2], x[1:, ::2], x[..., 0], x[None], x[:, 1:3], x.take(there), x.gather(0, there[None, :])]
x[1, 1] = 50.0  # the target has no dimensions: a copy, not a fill (TensorIndexing.h: copy_to)  # transfers: h2d 4 B x 1
x[0] = 7.0  # a fill
x[0, :2] = torch.ones(2)  # transfers: h2d 8 B x 1
x[there] = 3.0  # the number goes up (TensorAdvancedIndexing.cpp: _index_put_impl_)  # transfers: h2d 4 B x 1
x[rows] = -1.0  # transfers: h2d 4 B x 1, h2d 16 B x 1
x[torch.tensor([False, True, True])] = 2.0  # number and indices  # transfers: h2d 4 B x 1, h2d 16 B x 1 async
x[x > 1] = 0.5  # a fill
x[0, 1] += 1.0  # read, added to and written where it is
x[there, there] = x[0, 0] * 2
x.index_fill_(0, there, 4.0)
x.select(0, 1)[2] = 8.0  # transfers: h2d 4 B x 1
results.append(x)
# In their order: 4 for each of 3 rounds; numpy's, two lists', bools', the two masks'; `rows[1]`; the eight views; all.
sizes = [*[8] * 12, 8, 2, 6, 8, 4, 4, 4, 1, 4, 3, 12, 6, 2, 2, 12]
assert [one.numel() for one in results] == sizes
flat = torch.cat([one.reshape(-1) for one in results])
print(flat.tolist())  # 174 floats  # transfers: d2h 696 B x 1
