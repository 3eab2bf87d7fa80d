"""Every way in which a device value becomes a host's bool."""

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

x = torch.arange(1.0, 7.0, device=DEVICE)
t, nothing = x[1], torch.zeros((), device=DEVICE)  # views and kernels
answers = []
# A comparison gives a bool, 1 byte; a value itself is read as what it is (`is_nonzero` is `item`), here 4 bytes.
if t > 1:  # transfers: d2h 1 B x 1
    answers.append("if")
if t:  # transfers: d2h 4 B x 1
    answers.append("value")
while nothing < 3:  # transfers: d2h 1 B x 4
    nothing += 1
answers.append("while")
assert (x > 0).all()  # transfers: d2h 1 B x 1
answers.append(not t)  # transfers: d2h 4 B x 1
answers.append(bool(x.isnan().any()))  # transfers: d2h 1 B x 1
if x[0] > 0 and x[1] > 0:  # both are asked  # transfers: d2h 1 B x 2
    answers.append("and")
if x[0] > 0 or x[1] > 0:  # the first decides  # transfers: d2h 1 B x 1
    answers.append("or")
kept = x[0] > 5 or x[1]  # `or` asks the first and gives the second unasked  # transfers: d2h 1 B x 1
answers.append("yes" if kept > 1 else "no")  # transfers: d2h 1 B x 1
answers.append(3.0 in x)  # `(element == self).any().item()`  # transfers: d2h 1 B x 1
answers.append(1 < t < 3)  # a chain is an `and`: the first is asked  # transfers: d2h 1 B x 1
answers.append(any(x > 3))  # element by element, until one is true  # transfers: d2h 1 B x 4
answers.append(all(x > 0))  # transfers: d2h 1 B x 6
answers.append(max(x[0], x[1], x[2]))  # a comparison less than elements  # transfers: d2h 1 B x 2
answers.append(sorted(list(x[:3]))[0])  # likewise, where they are in order  # transfers: d2h 1 B x 2
answers.append(sum(1 for one in x if one > 2))  # transfers: d2h 1 B x 6
answers.append(len([one for one in filter(None, x)]))  # transfers: d2h 4 B x 6
answers.append(torch.equal(x, x + 0))  # transfers: d2h 1 B x 1
answers.append(torch.equal(x, x))  # the same memory is equal unseen (aten/src/ATen/native/cuda/Equal.cpp)
answers.append(torch.equal(x, x[:3]))  # and so is another shape
answers.append(torch.allclose(x, x * 1.0))  # transfers: d2h 1 B x 1
answers.append(x.is_nonzero() if x.dim() == 0 else t.is_nonzero())  # transfers: d2h 4 B x 1
answers.append((x[0] == x[1]) is None or x is None)  # identity asks nobody
answers.append(x.numel() > 3 and len(x) == 6 and x.is_floating_point() and x.shape[0] > 2)  # nor do shapes
chosen = torch.where(t > 1, x, -x).clamp(min=nothing)  # the device decides
print(*(float(one) if isinstance(one, torch.Tensor) else one for one in answers))  # transfers: d2h 4 B x 2, d2h 1 B x 1
print(chosen.sum().item())  # transfers: d2h 4 B x 1
