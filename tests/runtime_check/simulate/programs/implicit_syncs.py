"""What waits for the device without saying so."""

import torch


def run(place):
    t = torch.tensor(2.5, device=place)  # h2d 4
    v = torch.tensor([3.0, 1.0, 0.0, 7.0], device=place)  # h2d 16
    i = torch.tensor([2, 0], device=place)  # h2d 16
    if t > 0:  # d2h 1
        pass
    float(t)  # d2h 4
    int(i[0])  # d2h 8
    bool(t)  # d2h 4
    t.item()  # d2h 4
    v.tolist()  # d2h 16
    v.nonzero()  # d2h 4
    m = v > 1
    v[m]  # d2h 4
    v.masked_select(m)  # d2h 4
    v[m] = 0.5
    v[m] = torch.ones(2, device=place)  # d2h 4
    [row for row in v.reshape(2, 2)]
    [float(one) for one in v]  # d2h 4; d2h 4; d2h 4; d2h 4
    x1 = v[i]
    x2 = v[torch.tensor([1, 2])]  # h2d 16
    x3 = v[i[0]]  # d2h 8
    x4 = v[torch.tensor([True, False, True, False])]  # h2d 16
    v[i] = 2.0  # h2d 4
    torch.where(v > 0)  # d2h 4
    torch.where(v > 0, v, v * 2)
    torch.unique(v)  # d2h 8
    repeats = torch.tensor([1, 2, 1, 1], device=place)  # h2d 32
    torch.repeat_interleave(v, repeats)  # d2h 8; d2h 1
    torch.repeat_interleave(v, 2)
    torch.repeat_interleave(v, i.new_ones(4), output_size=4)
    f"{t:.2f}"  # d2h 4
    str(i)  # d2h 8; d2h 8; d2h 16
    range(i[0])  # d2h 8
    [10, 20, 30][i[1]]  # d2h 8
    torch.allclose(v, v)  # d2h 1
    torch.equal(v, v)
    torch.equal(v, v + 0)  # d2h 1
    assert t not in v  # d2h 1
    assert (v == v).all()  # d2h 1
    max(v[0], v[1])  # d2h 1
    v[: i[0]]  # d2h 8
    v.sum().clamp(min=0)
    torch.nn.functional.one_hot(i)  # d2h 8
    torch.nn.functional.one_hot(i, 4)
    torch.bincount(i)  # d2h 8; d2h 8
    torch.multinomial(v.abs() + 1, 1)
    torch.normal(v, v.abs() + 1)  # d2h 1
    v.masked_fill_(m, t)  # d2h 4
    torch.linalg.inv(torch.eye(2, device=place))  # d2h 1
    return {"all": [v, x1, x2, x3, x4]}
