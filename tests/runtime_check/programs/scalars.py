"""Every way in which a device value becomes a Python number, or a number that an operator wants on the host."""

import math

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

x = torch.linspace(0.5, 4.5, 5, device=DEVICE)
n = torch.arange(5, device=DEVICE)
two = n[2]
numbers = [float(x[0]), int(x[4]), complex(x[1])]  # transfers: d2h 4 B x 3
numbers += [int(two), two.item(), n[3].tolist()]  # 64-bit integers  # transfers: d2h 8 B x 3
numbers += [math.sqrt(x[3]), math.floor(x[3]), round(float(x[2]), 1)]  # transfers: d2h 4 B x 3
numbers += [[10, 20, 30][two], len([0] * two), *range(two)]  # `__index__`  # transfers: d2h 8 B x 3
numbers.append(len(x[:two]))  # transfers: d2h 8 B x 1
numbers.append(len(x[n[1] : n[3]]))  # transfers: d2h 8 B x 2
row = x[two]  # an index that is a device value of no dimensions is read  # transfers: d2h 8 B x 1
numbers.append("abc"["abc".index("a") + two])  # transfers: d2h 8 B x 1
a = torch.add(x, x, alpha=x[0])  # `alpha` is a number  # transfers: d2h 4 B x 1
b = torch.full((2,), x[1])  # and so is the value to fill with; the result is on the host  # transfers: d2h 4 B x 1
c = torch.full((2,), x[1], device=DEVICE)  # transfers: d2h 4 B x 1
d = torch.arange(two, device=DEVICE)  # transfers: d2h 8 B x 1
e = x.new_full((2,), x[2])  # transfers: d2h 4 B x 1
f = torch.tensor([x[0], x[1]])  # element by element  # transfers: d2h 4 B x 2
g = torch.tensor([x[0], x[1]], device=DEVICE)  # and back  # transfers: d2h 4 B x 2, h2d 8 B x 1
h = torch.tensor(x[0].item(), device=DEVICE)  # transfers: d2h 4 B x 1, h2d 4 B x 1
i = x.repeat(1, two)  # sizes are numbers  # transfers: d2h 8 B x 1
j = x.roll(1) * 2 + x[0] ** x[1] - x[2].round()  # operators take device values as they are
k = torch.clamp(x, min=x[1], max=x[3]) + torch.pow(2.0, x) + torch.where(x > 1, x, 0.0)
m = x.masked_fill(x > 2, x[0])  # a kernel wants the number: `value.item()` (cuda/Indexing.cu)  # transfers: d2h 4 B x 1
o = torch.nn.functional.dropout(x, 0.0).lerp(x * 2, x[0])
print(numbers, b.tolist(), f.tolist())
for one in (a, c, e, g, j, k, m, o):
    print([round(value, 5) for value in one.tolist()])  # transfers: d2h 20 B x 5, d2h 8 B x 3
print(row.item(), h.item(), d.tolist(), i.sum().item())  # transfers: d2h 4 B x 3, d2h 16 B x 1
