"""Sparse tensors of every layout: products, sums, gradients, and an optimizer for them."""

import torch
from torch import nn


def adjacency():
    torch.manual_seed(1)
    places = torch.stack([torch.randint(0, 5, (9,)), torch.randint(0, 6, (9,))])
    return torch.sparse_coo_tensor(places, torch.randn(9), (5, 6))


def dense(tensor):
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def run(place):
    x = adjacency().to(place)
    right, left = torch.randn(6, 4).to(place), torch.randn(5, 6).to(place)
    joined = x.coalesce()
    results = {
        "parts": [joined.indices(), joined.values(), x._indices(), x._values()],
        "products": [torch.sparse.mm(x, right), x @ right, x.t() @ left[:, :2], torch.mv(x, right[:, 0])],
        "sparse products": [dense(one) for one in (torch.sparse.mm(x, x.t()), x * x, left.sparse_mask(joined))],
        "sums": [left + x, left.clone().add_(x), dense(x + x), torch.sparse.sum(x), dense(torch.sparse.sum(x, 0))],
        "elements": [dense(one) for one in (-x, x * 2, x / 3, joined.abs().sqrt(), torch.sparse.softmax(x, 1), x[1])],
        "written": [dense(one) for one in (x.clone().add_(x), x.clone().mul_(3), x.clone().zero_())],
        "copied": [
            dense(one) for one in (x.double(), x.half().float(), torch.zeros_like(x).copy_(x), torch.cat([x, x]))
        ],
        "resized": [dense(x.clone().sparse_resize_((7, 7), 2, 0)), dense(x.unsqueeze(0)), dense(x.transpose(0, 1))],
        "from dense": [
            dense(one) for one in (left.to_sparse(), left.to_sparse(1), left.to_sparse_csr(), left.to_sparse_csc())
        ],
    }
    rows = x.to_sparse_csr()
    assert rows.layout is torch.sparse_csr
    assert rows.device.type == x.device.type == place
    results["rows"] = [rows.crow_indices(), rows.col_indices(), rows.values(), rows @ right, dense(rows * 2)]
    weight, matrix = right.clone().requires_grad_(), x.clone().requires_grad_()
    (torch.sparse.mm(matrix, weight).relu().sum() + torch.sparse.sum(matrix * 2)).backward()
    results["gradients"] = [weight.grad, dense(matrix.grad)]
    torch.manual_seed(2)
    table = nn.Embedding(10, 3, sparse=True).to(place)
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        table(torch.tensor([1, 2, 1, 5]).to(place)).pow(2).sum().backward()
        assert table.weight.grad.is_sparse
        optimizer.step()
    results["embedding"] = [table.weight]
    return results
