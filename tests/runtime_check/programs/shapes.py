"""Results whose shape depends on data: the host waits to learn the size. Files are under aten/src/ATen/native/."""

import torch
from torch.nn.functional import one_hot

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

x = torch.tensor([3.0, 0.0, 1.0, 3.0, 0.0], device=DEVICE)  # transfers: h2d 20 B x 1
n = torch.tensor([2, 0, 1, 2], device=DEVICE)  # transfers: h2d 32 B x 1
mask = x > 0
results = []
# cuda/Nonzero.cu copies the number of elements, an int, by a call of its own; no operator shows it.
results.append(x.nonzero())  # transfers: wait 4 B x 1
results.append(x.nonzero(as_tuple=True)[0])  # transfers: wait 4 B x 1
results.append(torch.argwhere(mask))  # transfers: wait 4 B x 1
results.append(torch.where(mask)[0])  # transfers: wait 4 B x 1
results.append(x[mask])  # masks are made indices by `nonzero` (IndexingUtils.h)  # transfers: wait 4 B x 1
results.append(x.masked_select(mask))  # cuda/IndexKernel.cpp, by indexing  # transfers: wait 4 B x 1
results.append(x.reshape(1, 5)[:, mask])  # transfers: wait 4 B x 1
results.append(x[mask.nonzero()[:, 0]])  # indices that are on the device cost nothing more  # transfers: wait 4 B x 1
# cuda/UniqueCub.cu reads `length.item()`, a 64-bit integer; of bools it copies the number of true ones, an int.
results.append(x.unique())  # transfers: d2h 8 B x 1
results.extend(x.unique(return_inverse=True, return_counts=True))  # transfers: d2h 8 B x 1
results.append(x.unique_consecutive())  # transfers: d2h 8 B x 1
results.append(mask.unique())  # transfers: wait 4 B x 1
# Repeat.h: `cumsum[-1].item()`, 64 bits, and `(repeats >= 0).all().item()`, 1 byte; not where the size is given.
results.append(torch.repeat_interleave(n, n))  # transfers: d2h 8 B x 1, d2h 1 B x 1
results.append(x[:4].repeat_interleave(n))  # transfers: d2h 8 B x 1, d2h 1 B x 1
results.append(torch.repeat_interleave(n, n, output_size=5))
results.append(n.repeat_interleave(2))  # by `expand`
# cuda/SummaryOps.cu: the least and the largest by `.cpu()`.
results.append(torch.bincount(n))  # transfers: d2h 8 B x 2
results.append(torch.bincount(n, minlength=9))  # transfers: d2h 8 B x 2
results.append(torch.histc(x, 3))  # transfers: d2h 4 B x 2
results.append(torch.histc(x, 3, 0, 3))
results.append(one_hot(n))  # `max().item()` (Onehot.cpp)  # transfers: d2h 8 B x 1
results.append(one_hot(n, 4))  # and no look at the values, on CUDA
results.append(torch.zeros(3, device=DEVICE).scatter_add(0, n, x[:4]))  # what `bincount` with weights could be
results.append(torch.isin(n, n[:1]))
results.append(torch.where(mask, x, -1.0))
results.append(x.masked_fill(mask, 2.0))
x[mask] = 5.0  # one mask and a number are `masked_fill` (TensorAdvancedIndexingUtils.h: canDispatchToMaskedFill)
x[x == 5.0] = torch.arange(3.0, device=DEVICE)  # several values need indices  # transfers: wait 4 B x 1
x[mask] += 1  # a read and a write  # transfers: wait 4 B x 2
results.append((torch.multinomial(x + 1, 3) >= 0).all())  # checks its input on the device
results.append(torch.normal(x * 0, x.abs() + 1) != 9)  # no deviation is negative  # transfers: d2h 1 B x 1
results += [x, x.sort()[0], x.topk(2)[0], x.cumsum(0), x.argsort(), x.median(), n.flip(0), x.count_nonzero()]
sizes = [one.shape for one in results]
flat = torch.cat([one.double().reshape(-1) for one in results])
print(sizes, [round(value, 4) for value in flat.tolist()])  # transfers: d2h 1320 B x 1
