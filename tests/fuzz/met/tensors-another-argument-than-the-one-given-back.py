import torch

device = "cuda"


def second(a, b):
    return b


def swapped(a, b):
    return b, a


def around(b):
    def inner(a):
        return b

    for _ in range(3):
        if inner(torch.ones(4, device=device)) > 1:
            print(2)


for x in torch.rand(12, 4):
    x = x.to(device, non_blocking=True)
    if second(x, 1.5) > 1:
        print(1)
    y, z = swapped(x, 1.5)
    if y > 1:
        print(3)
around(2.5)
