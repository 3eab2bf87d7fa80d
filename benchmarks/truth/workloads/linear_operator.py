"""linear-operator: structured matrices solved, decomposed, multiplied and differentiated, on the device."""

from __future__ import annotations

import linear_operator
import torch
from linear_operator import operators as op
from linear_operator import settings

from truth import Package, case, step, workload

PACKAGE = Package("linear-operator==0.6.1", seconds=400)
DEVICE = "cuda"
N = 12


def _root(*batch, n=N, rank=5):
    return torch.randn(*batch, n, rank, device=DEVICE, requires_grad=True)


def _spd(*batch, n=N):
    a = torch.randn(*batch, n, n, device=DEVICE)
    return (a @ a.mT + n * torch.eye(n, device=DEVICE)).requires_grad_()


def _exercise(name, make, solvable=True, turns=6):
    """What a Gaussian process does with its covariance, on new numbers each time."""
    with case(name):
        for _ in range(turns):
            made = make()
            right = torch.randn(*made.batch_shape, made.size(-1), 3, device=DEVICE)
            with step("multiply"):
                product = linear_operator.to_dense(made @ right)
                total = product.pow(2).mean() + made.diagonal().sum()
                made.to_dense()
                (made * 2.0 + made)[..., :3, 1:4].to_dense()
                made.mT @ product
                made.sum(-1)
                if made.requires_grad:
                    total.backward()
            if solvable:
                made = make()
                with step("solve"):
                    inverse, logarithm = made.add_diagonal(torch.tensor(0.1, device=DEVICE)).inv_quad_logdet(
                        right, logdet=True
                    )
                    made.add_jitter(1e-3).solve(right)
                    if made.requires_grad:
                        (inverse.sum() + logarithm.sum()).backward()


@workload
def structures():
    _exercise("dense", lambda: op.DenseLinearOperator(_spd()))
    _exercise("dense batch", lambda: op.DenseLinearOperator(_spd(2)))
    _exercise("diagonal", lambda: op.DiagLinearOperator((torch.rand(N, device=DEVICE) + 0.5).requires_grad_()))
    _exercise("constant diagonal", lambda: op.ConstantDiagLinearOperator(torch.rand(1, device=DEVICE) + 0.5, N))
    _exercise("identity", lambda: op.IdentityLinearOperator(N, device=DEVICE))
    _exercise("root", lambda: op.RootLinearOperator(_root()), solvable=False)
    _exercise(
        "low rank and diagonal",
        lambda: op.LowRankRootLinearOperator(_root()).add_diagonal(torch.rand(N, device=DEVICE) + 0.5),
    )
    _exercise(
        "kronecker",
        lambda: op.KroneckerProductLinearOperator(op.DenseLinearOperator(_spd(n=3)), op.DenseLinearOperator(_spd(n=4))),
    )
    _exercise(
        "kronecker and diagonal",
        lambda: op.KroneckerProductLinearOperator(
            op.DenseLinearOperator(_spd(n=3)), op.DenseLinearOperator(_spd(n=4))
        ).add_diagonal(torch.rand(1, device=DEVICE)),
    )
    _exercise(
        "toeplitz",
        lambda: op.ToeplitzLinearOperator(
            torch.cat([torch.full((1,), 4.0), torch.rand(N - 1) * 0.2]).to(DEVICE).requires_grad_()
        ),
    )
    _exercise("block diagonal", lambda: op.BlockDiagLinearOperator(op.DenseLinearOperator(_spd(3, n=4))))
    _exercise("block interleaved", lambda: op.BlockInterleavedLinearOperator(op.DenseLinearOperator(_spd(3, n=4))))
    _exercise("sum of a batch", lambda: op.SumBatchLinearOperator(op.DenseLinearOperator(_spd(3))))
    _exercise("sum", lambda: op.SumLinearOperator(op.DenseLinearOperator(_spd()), op.DenseLinearOperator(_spd())))
    _exercise(
        "product by elements",
        lambda: op.MulLinearOperator(op.RootLinearOperator(_root()), op.RootLinearOperator(_root())),
        solvable=False,
    )
    _exercise(
        "matrix product",
        lambda: op.MatmulLinearOperator(op.DenseLinearOperator(_root(rank=N)), op.DenseLinearOperator(_root(rank=N))),
        solvable=False,
    )
    _exercise(
        "constant times",
        lambda: op.ConstantMulLinearOperator(op.DenseLinearOperator(_spd()), torch.tensor(2.0, device=DEVICE)),
    )
    _exercise("repeated", lambda: op.BatchRepeatLinearOperator(op.DenseLinearOperator(_spd()), torch.Size((2,))))
    _exercise("triangular", lambda: op.TriangularLinearOperator(torch.linalg.cholesky(_spd())), solvable=False)
    _exercise("zero", lambda: op.ZeroLinearOperator(N, N, device=DEVICE), solvable=False)
    _exercise("permutation", lambda: op.PermutationLinearOperator(torch.randperm(N, device=DEVICE)), solvable=False)
    with case("interpolated"):
        for _ in range(6):
            base = op.DenseLinearOperator(_spd(n=8))
            places = torch.randint(0, 8, (N, 2), device=DEVICE)
            weights = torch.rand(N, 2, device=DEVICE)
            with step("multiply"):
                made = op.InterpolatedLinearOperator(base, places, weights, places, weights)
                (made @ torch.randn(N, 2, device=DEVICE)).sum().backward()
                made.diagonal()
                made.add_jitter(1e-2).solve(torch.randn(N, device=DEVICE))
    with case("kernel"):

        def kernel(x1, x2, lengthscale):
            return (-torch.cdist(x1 / lengthscale, x2 / lengthscale).pow(2) / 2).exp()

        for _ in range(6):
            x = torch.randn(20, 2, device=DEVICE)
            lengthscale = torch.ones(1, 1, device=DEVICE, requires_grad=True)
            with step("multiply"):
                made = op.KernelLinearOperator(
                    x, x, covar_func=kernel, lengthscale=lengthscale, num_nonbatch_dimensions={"lengthscale": 2}
                )
                (made.add_jitter(0.1) @ torch.randn(20, 1, device=DEVICE)).sum().backward()
                made[:5, :5].to_dense()
    with case("concatenated"):
        for _ in range(5):
            with step("multiply"):
                made = op.CatLinearOperator(
                    op.DenseLinearOperator(_root(rank=4)),
                    op.DenseLinearOperator(_root(rank=3)),
                    dim=-1,
                    output_device=torch.device(DEVICE),
                )
                made @ torch.randn(7, device=DEVICE)
    with case("masked"):
        for _ in range(5):
            base = op.DenseLinearOperator(_spd())
            keep = torch.rand(N, device=DEVICE) > 0.3
            with step("multiply"):
                made = op.MaskedLinearOperator(base, keep, keep)
                made.to_dense()
                made @ torch.randn(made.size(-1), device=DEVICE)


@workload
def algorithms():
    with case("functions"):
        for _ in range(6):
            made, right = op.DenseLinearOperator(_spd()), torch.randn(N, 2, device=DEVICE)
            with step("functions"):
                linear_operator.solve(made, right)
                linear_operator.inv_quad_logdet(made, right, logdet=True)
                linear_operator.diagonalization(made)
                linear_operator.root_decomposition(made).to_dense()
                linear_operator.root_inv_decomposition(made).to_dense()
                linear_operator.add_jitter(made)
                linear_operator.sqrt_inv_matmul(made, right)
                torch.linalg.cholesky(made)
                torch.linalg.eigh(made)
                made.svd()
                made.zero_mean_mvn_samples(3)
                linear_operator.pivoted_cholesky(made, 4)
    with case("conjugate gradients"), settings.max_cholesky_size(1), settings.min_preconditioning_size(4):
        for _ in range(6):
            made, right = op.DenseLinearOperator(_spd(n=30)), torch.randn(30, 2, device=DEVICE)
            with step("solve"):
                inverse, logarithm = made.add_diagonal(torch.tensor(0.5, device=DEVICE)).inv_quad_logdet(
                    right, logdet=True
                )
                (inverse.sum() + logarithm.sum()).backward()
    with case("conjugate gradients of a batch"), settings.max_cholesky_size(1), settings.cg_tolerance(1e-3):
        for _ in range(5):
            made, right = op.DenseLinearOperator(_spd(2, n=20)), torch.randn(2, 20, 2, device=DEVICE)
            with step("solve"):
                made.solve(right).sum().backward()
    with case("lanczos"), settings.max_cholesky_size(1), settings.max_root_decomposition_size(10):
        for _ in range(5):
            made = op.DenseLinearOperator(_spd(n=20))
            with step("decompose"):
                made.root_decomposition(method="lanczos").to_dense()
                made.diagonalization(method="lanczos")
                made.zero_mean_mvn_samples(2)
    with case("minres"):
        for _ in range(5):
            made, right = _spd(n=16).detach(), torch.randn(16, 1, device=DEVICE)
            with step("solve"):
                linear_operator.utils.minres(made, right)
                linear_operator.utils.linear_cg(made.matmul, right)
    with case("rows appended"):
        made = op.DenseLinearOperator(_spd().detach())
        made.root_decomposition()
        for _ in range(4):
            across, new = torch.randn(1, made.size(-1), device=DEVICE) * 0.1, torch.eye(1, device=DEVICE) * 20
            with step("append"):
                made = made.cat_rows(across, new)
    with case("not positive"):
        for _ in range(4):
            matrix = torch.ones(6, 6, device=DEVICE)
            with step("cholesky"):
                linear_operator.utils.cholesky.psd_safe_cholesky(matrix)
