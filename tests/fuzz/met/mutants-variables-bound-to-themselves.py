import torch


def work(x, y, z):
    x = x
    torch(x, x)

    def inner(a):
        pass


def picked(pair, values):
    pair = pair
    values = values.cuda()
    for step in range(12):
        values = values[pair[0].cpu()] + values[pair[1].cpu()]
    return values


def of_one_another(values):
    values = values.cuda()
    for step in range(12):
        one = other
        other = one
        values = values[one[0].cpu()]
    return values
