"""botorch: Bayesian optimisation loops: models fitted, acquisition functions optimised, several objectives, samplers."""

from __future__ import annotations

import torch
from botorch import acquisition, fit_gpytorch_mll, models, optim, sampling, test_functions
from botorch.acquisition import multi_objective
from botorch.generation import MaxPosteriorSampling
from botorch.models.transforms import Normalize, Standardize
from botorch.utils import draw_sobol_samples
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood, VariationalELBO

from truth import Package, case, step, workload

PACKAGE = Package("botorch==0.18.1", extra=("gpytorch", "linear_operator"), seconds=500)
DEVICE = "cuda"
FORM = {"dtype": torch.float64, "device": DEVICE}


def _data(n=8, d=2, outputs=1):
    x = torch.rand(n, d, **FORM)
    y = torch.stack([(x * (k + 2)).sin().sum(-1) for k in range(outputs)], -1)
    return x, y + 0.01 * torch.randn_like(y)


def _fitted(model, mll=ExactMarginalLogLikelihood):
    fit_gpytorch_mll(mll(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": 8}})
    return model


def _bounds(d=2):
    return torch.tensor([[0.0] * d, [1.0] * d], **FORM)


FEW = {"num_restarts": 2, "raw_samples": 8, "options": {"maxiter": 4}}


@workload
def loops():
    with case("optimising one objective"):
        problem = test_functions.Branin(negate=True).to(**FORM)
        x = draw_sobol_samples(problem.bounds, n=5, q=1).squeeze(1)
        y = problem(x).unsqueeze(-1)
        for _ in range(4):
            with step("round"):
                model = _fitted(
                    models.SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1))
                )
                wanted = acquisition.LogExpectedImprovement(model, best_f=y.max())
                new, _ = optim.optimize_acqf(wanted, problem.bounds, q=1, **FEW)
                x, y = torch.cat([x, new]), torch.cat([y, problem(new).unsqueeze(-1)])
    with case("several at a time"):
        x, y = _data()
        for _ in range(3):
            with step("round"):
                model = _fitted(models.SingleTaskGP(x, y, outcome_transform=Standardize(1)))
                sampler = sampling.SobolQMCNormalSampler(torch.Size([16]))
                wanted = acquisition.qLogNoisyExpectedImprovement(model, x, sampler=sampler, prune_baseline=True)
                new, _ = optim.optimize_acqf(wanted, _bounds(), q=2, sequential=True, **FEW)
                x, y = torch.cat([x, new]), torch.cat([y, new.sin().sum(-1, keepdim=True)])
    with case("several objectives"):
        problem = test_functions.BraninCurrin(negate=True).to(**FORM)
        x = torch.rand(6, 2, **FORM)
        y = problem(x)
        for _ in range(3):
            with step("round"):
                model = models.ModelListGP(
                    *(models.SingleTaskGP(x, y[:, i : i + 1], outcome_transform=Standardize(1)) for i in range(2))
                )
                fit_gpytorch_mll(
                    SumMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": 5}}
                )
                wanted = multi_objective.qLogNoisyExpectedHypervolumeImprovement(
                    model,
                    problem.ref_point,
                    x,
                    prune_baseline=True,
                    sampler=sampling.SobolQMCNormalSampler(torch.Size([8])),
                )
                new, _ = optim.optimize_acqf(wanted, _bounds(), q=2, sequential=True, **FEW)
                x, y = torch.cat([x, new]), torch.cat([y, problem(new)])
                FastNondominatedPartitioning(problem.ref_point, y).compute_hypervolume().item()
    with case("trust region sampling"):
        x, y = _data(10)
        for _ in range(4):
            with step("round"):
                model = _fitted(models.SingleTaskGP(x, y, outcome_transform=Standardize(1)))
                candidates = torch.quasirandom.SobolEngine(2, scramble=True).draw(40).to(**FORM)
                with torch.no_grad():
                    new = MaxPosteriorSampling(model, replacement=False)(candidates, num_samples=2)
                x, y = torch.cat([x, new]), torch.cat([y, new.sin().sum(-1, keepdim=True)])


@workload
def acquisitions():
    x, y = _data(10)
    model = _fitted(models.SingleTaskGP(x, y, outcome_transform=Standardize(1)))
    known = _fitted(models.SingleTaskGP(x, y, torch.full_like(y, 0.01)))
    sampler = sampling.SobolQMCNormalSampler(torch.Size([16]))
    a = acquisition
    for name, make, q in (
        ("expected improvement", lambda: a.ExpectedImprovement(model, y.max()), 1),
        ("log expected improvement", lambda: a.LogExpectedImprovement(model, y.max()), 1),
        ("probability of improvement", lambda: a.ProbabilityOfImprovement(model, y.max()), 1),
        ("upper confidence bound", lambda: a.UpperConfidenceBound(model, 0.2), 1),
        ("posterior mean", lambda: a.PosteriorMean(model), 1),
        ("noisy expected improvement", lambda: a.NoisyExpectedImprovement(known, x, num_fantasies=4), 1),
        ("q expected improvement", lambda: a.qExpectedImprovement(model, y.max(), sampler), 2),
        ("q log expected improvement", lambda: a.qLogExpectedImprovement(model, y.max(), sampler), 2),
        ("q noisy", lambda: a.qNoisyExpectedImprovement(model, x, sampler), 2),
        ("q probability", lambda: a.qProbabilityOfImprovement(model, y.max(), sampler), 2),
        ("q upper bound", lambda: a.qUpperConfidenceBound(model, 0.2, sampler), 2),
        ("q simple regret", lambda: a.qSimpleRegret(model, sampler), 2),
        ("knowledge gradient", lambda: a.qKnowledgeGradient(model, num_fantasies=2), 3),
        ("max value entropy", lambda: a.qMaxValueEntropy(model, torch.rand(20, 2, **FORM)), 1),
        ("negative integrated variance", lambda: a.qNegIntegratedPosteriorVariance(model, torch.rand(8, 2, **FORM)), 2),
    ):
        with case(name):
            wanted = make()
            for _ in range(6):
                with step("evaluate"):
                    points = torch.rand(3, q, 2, **FORM).requires_grad_()
                    wanted(points).sum().backward()
    with case("optimised with constraints"):
        wanted = a.qLogExpectedImprovement(model, y.max(), sampler)
        for _ in range(3):
            with step("optimise"):
                optim.optimize_acqf(
                    wanted,
                    _bounds(),
                    q=2,
                    inequality_constraints=[(torch.tensor([0, 1], device=DEVICE), torch.ones(2, **FORM), 0.5)],
                    **FEW,
                )
    with case("optimised over choices"):
        wanted = a.qUpperConfidenceBound(model, 0.2, sampler)
        for _ in range(3):
            with step("optimise"):
                optim.optimize_acqf_discrete(wanted, q=2, choices=torch.rand(12, 2, **FORM))
                optim.optimize_acqf_mixed(
                    a.UpperConfidenceBound(model, 0.2), _bounds(), q=1, fixed_features_list=[{0: 0.2}, {0: 0.7}], **FEW
                )
    with case("optimised by torch"):
        wanted = a.UpperConfidenceBound(model, 0.2)
        from botorch.generation import gen_candidates_torch

        for _ in range(3):
            start = torch.rand(3, 1, 2, **FORM)
            with step("optimise"):
                gen_candidates_torch(start, wanted, 0.0, 1.0, options={"maxiter": 8})


@workload
def fitting():
    def several():
        x, y = _data(8, outputs=2)
        return models.SingleTaskGP(x, y, outcome_transform=Standardize(2)), x

    def tasks():
        x, y = _data(8)
        which = torch.arange(8, **FORM)[:, None] % 2
        return models.MultiTaskGP(
            torch.cat([x, which], -1), y, task_feature=-1, outcome_transform=Standardize(1)
        ), torch.cat([x, which], -1)

    def mixed():
        x, y = _data(8)
        x = torch.cat([x, torch.randint(0, 3, (8, 1), device=DEVICE).double()], -1)
        return models.MixedSingleTaskGP(x, y, cat_dims=[2], outcome_transform=Standardize(1)), x

    def noisy():
        x, y = _data(8)
        return models.SingleTaskGP(x, y, torch.full_like(y, 0.01), outcome_transform=Standardize(1)), x

    def fidelity():
        x, y = _data(8, 3)
        return models.SingleTaskMultiFidelityGP(x, y, data_fidelities=[2], outcome_transform=Standardize(1)), x

    for name, make in (
        ("several outputs", several),
        ("tasks", tasks),
        ("categories", mixed),
        ("known noise", noisy),
        ("fidelities", fidelity),
    ):
        with case(name):
            for _ in range(3):
                with step("fit"):
                    model, x = make()
                    _fitted(model)
            for _ in range(5):
                with step("predict"), torch.no_grad():
                    posterior = model.posterior(x[:4] if name == "tasks" else torch.rand_like(x[:4]))
                    posterior.mean, posterior.variance
                    posterior.rsample(torch.Size([4]))
    with case("variational"):
        x, y = _data(20)
        model = models.SingleTaskVariationalGP(x, y, inducing_points=6).to(DEVICE)
        mll = VariationalELBO(model.likelihood, model.model, num_data=20)
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        for _ in range(6):
            with step("train"):
                loss = -mll(model.model(x), y.squeeze(-1))
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    with case("fully Bayesian"):
        x, y = _data(6)
        from botorch.fit import fit_fully_bayesian_model_nuts
        from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP

        model = SaasFullyBayesianSingleTaskGP(x, y, outcome_transform=Standardize(1))
        fit_fully_bayesian_model_nuts(
            model, warmup_steps=2, num_samples=4, thinning=2, disable_progbar=True, max_tree_depth=2
        )
        for _ in range(3):
            with step("predict"), torch.no_grad():
                model.posterior(torch.rand(3, 2, **FORM)).mixture_mean
    with case("cross validation"):
        from botorch.cross_validation import batch_cross_validation, gen_loo_cv_folds

        x, y = _data(5)
        for _ in range(2):
            with step("validate"):
                folds = gen_loo_cv_folds(x, y, torch.full_like(y, 0.01))
                batch_cross_validation(
                    models.SingleTaskGP,
                    ExactMarginalLogLikelihood,
                    folds,
                    fit_args={"optimizer_kwargs": {"options": {"maxiter": 3}}},
                )
    with case("pairwise preferences"):
        from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood

        for _ in range(3):
            with step("fit"):
                x = torch.rand(6, 2, **FORM)
                which = torch.stack([torch.randperm(6, device=DEVICE)[:2] for _ in range(4)])
                model = PairwiseGP(x, which)
                fit_gpytorch_mll(
                    PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model),
                    optimizer_kwargs={"options": {"maxiter": 3}},
                )
