import torch


def work(x, y, z):
    x = x
    torch(x, x)

    def inner(a):
        pass


def first(mask, values, found):
    found = found
    for step in range(12):
        if found[0].cuda():
            values[found[0].cuda()] = 0
        values = values.cuda() + found[0].cuda()


def of_one_another(values):
    for step in range(12):
        one = other
        other = one
        values[one[0]] = values.cuda()[other[0].cuda()].item()
