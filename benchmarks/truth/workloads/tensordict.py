"""tensordict: dictionaries of tensors made, moved, indexed, stacked and used in modules, losses and replay loops."""

from __future__ import annotations

import os
import tempfile

import torch
from tensordict import LazyStackedTensorDict, NonTensorData, TensorDict, from_module, pad, pad_sequence, tensorclass
from tensordict.nn import (
    CompositeDistribution,
    InteractionType,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictParams,
    TensorDictSequential,
    dispatch,
    set_interaction_type,
)
from tensordict.nn.distributions import NormalParamExtractor
from torch import nn

from truth import Package, case, step, workload

PACKAGE = Package("tensordict==0.15.3", seconds=300)
DEVICE = "cuda"


def _batch(n=16):
    return TensorDict(
        {
            "observation": torch.randn(n, 8),
            "action": torch.randint(0, 3, (n, 1)),
            "next": {"observation": torch.randn(n, 8), "reward": torch.randn(n, 1), "done": torch.rand(n, 1) > 0.8},
        },
        batch_size=[n],
    )


@workload
def containers():
    with case("to device"):
        for _ in range(6):
            batch = _batch()
            with step("move"):
                moved = batch.to(DEVICE)
                moved["next", "reward"].sum()
                moved.to("cpu", non_blocking=True)
    with case("pinned"):
        for _ in range(4):
            batch = _batch().pin_memory()
            with step("move"):
                batch.to(DEVICE, non_blocking=True)
    with case("shapes"):
        for _ in range(5):
            batch = _batch().to(DEVICE)
            with step("shape"):
                batch.view(4, 4).reshape(2, 8).permute(1, 0).unsqueeze(-1).squeeze(-1).expand(3, 8, 2)
                torch.stack([batch, batch], 0).contiguous()
                torch.cat([batch, batch], 0)
                batch.split([4, 12], 0)
                batch.chunk(2)
                batch.unbind(0)
                batch.flatten_keys(".").unflatten_keys(".")
                batch.gather(0, torch.randint(0, 16, (5,), device=DEVICE))
    with case("indices"):
        for _ in range(6):
            batch = _batch().to(DEVICE)
            with step("index"):
                batch[0]
                batch[:4]
                batch[batch["next", "done"].squeeze(-1)]
                batch[torch.randperm(16, device=DEVICE)[:4]]
                batch[2:4] = batch[0:2]
                batch[[1, 3]]
                batch.masked_fill(batch["next", "done"].squeeze(-1), 0.0)
                torch.where(batch["next", "done"].squeeze(-1), batch, torch.zeros_like(batch))
    with case("arithmetic"):
        for _ in range(5):
            a = TensorDict({"a": torch.randn(4, 3), "b": {"c": torch.randn(4, 2)}}, [4], device=DEVICE)
            b = a.clone()
            with step("add"):
                c = (a + b) * 2 - b / 3
                c.add_(a, alpha=0.5).mul_(0.1).clamp(-1.0, 1.0)
                c.abs().sqrt()
                a.lerp(b, 0.3)
                c.norm()
                c.mean(dim=0)
                c.sum()
                (a == b).all()
                c.isfinite().all()
                c.zero_()
                a.exp().log1p().sigmoid()
    with case("updates"):
        storage = _batch(32).to(DEVICE)
        for _ in range(5):
            batch = _batch(32)
            with step("update"):
                storage.update_(batch)
                storage.set("priority", torch.rand(32, device=DEVICE))
                storage.set_at_("priority", torch.zeros(4, device=DEVICE), slice(0, 4))
                storage.select("observation", "action").exclude("action")
                storage.rename_key_("priority", "weight")
                storage.apply(lambda x: x.float())
                storage.named_apply(lambda name, x: x, nested_keys=True)
                storage.pop("weight")
                storage.to_dict()
                storage.cpu().numpy()
    with case("printing"):
        batch = _batch().to(DEVICE)
        for _ in range(3):
            with step("print"):
                repr(batch)
                list(batch.items(include_nested=True, leaves_only=True))
    with case("stacked lazily"):
        for _ in range(5):
            parts = [TensorDict({"x": torch.randn(3 + i, 4), "y": torch.randn(2)}, [], device=DEVICE) for i in range(3)]
            with step("stack"):
                lazy = LazyStackedTensorDict.lazy_stack(parts, 0)
                lazy["y"].sum()
                lazy[1]
                lazy.get("x", as_padded_tensor=True)
                lazy.to("cpu").to(DEVICE)
    with case("padding"):
        for turn in range(5):
            parts = [TensorDict({"x": torch.randn(3 + i + turn, 4)}, [3 + i + turn], device=DEVICE) for i in range(3)]
            with step("pad"):
                pad_sequence(parts, return_mask=True)
                pad(parts[0], [0, 2])
    with case("saving"), tempfile.TemporaryDirectory() as folder:
        for turn in range(4):
            batch = _batch().to(DEVICE)
            with step("save"):
                torch.save(batch, os.path.join(folder, f"{turn}.pt"))
                torch.load(os.path.join(folder, f"{turn}.pt"), weights_only=False)
                batch.memmap(os.path.join(folder, f"map{turn}"), copy_existing=True)
                TensorDict.load_memmap(os.path.join(folder, f"map{turn}")).to(DEVICE)
    with case("consolidated"):
        for _ in range(4):
            batch = _batch()
            with step("consolidate"):
                batch.consolidate().to(DEVICE)
                batch.clone().to(DEVICE).load_state_dict(batch.to(DEVICE).state_dict())
    with case("not tensors"):
        for turn in range(4):
            batch = _batch().to(DEVICE)
            with step("set"):
                batch["text"] = NonTensorData(f"turn {turn}", batch_size=[16])
                batch["text"]
                batch[0]["text"]
                torch.stack([batch, batch])


@tensorclass
class Transition:
    observation: torch.Tensor
    reward: torch.Tensor
    note: str = "none"


@workload
def learning():
    with case("tensorclass"):
        for _ in range(6):
            with step("batch"):
                one = Transition(torch.randn(8, 4), torch.randn(8, 1), batch_size=[8]).to(DEVICE)
                one[one.reward.squeeze(-1) > 0].observation.mean()
                torch.cat([one, one]).reshape(2, 8)
                one.reward = one.reward * 2
                one.to_tensordict()
    with case("sequence of modules"):
        net = TensorDictSequential(
            TensorDictModule(nn.Linear(8, 16), in_keys=["observation"], out_keys=["hidden"]),
            TensorDictModule(nn.ReLU(), in_keys=["hidden"], out_keys=["hidden"]),
            TensorDictModule(nn.Linear(16, 3), in_keys=["hidden"], out_keys=["logits"]),
        ).to(DEVICE)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(8):
            batch = _batch().to(DEVICE)
            with step("train"):
                net(batch)
                loss = nn.functional.cross_entropy(batch["logits"], batch["action"].squeeze(-1))
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        net.select_subsequence(out_keys=["hidden"])(_batch().to(DEVICE))
    with case("policy"):
        policy = ProbabilisticTensorDictSequential(
            TensorDictModule(
                nn.Sequential(nn.Linear(8, 4), NormalParamExtractor()),
                in_keys=["observation"],
                out_keys=["loc", "scale"],
            ),
            ProbabilisticTensorDictModule(
                in_keys=["loc", "scale"],
                out_keys=["sample"],
                distribution_class=torch.distributions.Normal,
                return_log_prob=True,
                default_interaction_type=InteractionType.RANDOM,
            ),
        ).to(DEVICE)
        for _ in range(6):
            batch = _batch().to(DEVICE)
            with step("act"):
                policy(batch)
                (-policy.log_prob(batch)).mean().backward()
            with step("act best"), set_interaction_type(InteractionType.MODE):
                policy(batch)
    with case("composite distribution"):
        for _ in range(5):
            parameters = TensorDict(
                {"cont": {"loc": torch.randn(4), "scale": torch.rand(4) + 0.1}, "disc": {"logits": torch.randn(4, 10)}},
                [4],
                device=DEVICE,
            )
            with step("sample"):
                made = CompositeDistribution(
                    parameters,
                    distribution_map={"cont": torch.distributions.Normal, "disc": torch.distributions.Categorical},
                )
                made.log_prob(made.sample((4,)))
    with case("functional"):
        net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).to(DEVICE)
        parameters = from_module(net)
        target = parameters.data.clone()
        for _ in range(6):
            x = torch.randn(16, 8, device=DEVICE)
            with step("target"):
                with target.to_module(net):
                    expected = net(x).detach()
                (net(x) - expected).pow(2).mean().backward()
                target.lerp_(parameters.data, 0.01)
    with case("ensemble"):
        nets = [nn.Linear(8, 2).to(DEVICE) for _ in range(3)]
        weights = TensorDict.from_modules(*nets, as_module=True)
        for _ in range(5):
            x = torch.randn(4, 8, device=DEVICE)

            def call(one, x):
                with one.to_module(nets[0]):
                    return nets[0](x)

            with step("vmap"):
                torch.vmap(call, (0, None))(weights, x).sum().backward()
    with case("parameters"):
        held = TensorDictParams(TensorDict({"w": torch.randn(8, 8), "b": torch.zeros(8)})).to(DEVICE)
        optimizer = torch.optim.SGD(held.parameters(), 0.1)
        for _ in range(5):
            with step("train"):
                (torch.randn(4, 8, device=DEVICE) @ held["w"] + held["b"]).pow(2).mean().backward()
                optimizer.step()
                held.zero_grad()
    with case("replay"):
        storage = TensorDict({}, [64], device=DEVICE)
        net = nn.Linear(8, 3).to(DEVICE)
        optimizer = torch.optim.Adam(net.parameters())
        for turn in range(8):
            fresh = _batch(8)
            with step("collect"):
                place = torch.arange(turn * 8, turn * 8 + 8)
                if turn == 0:
                    storage = fresh.to(DEVICE).new_zeros(64)
                storage[place] = fresh.to(DEVICE)
            with step("learn"):
                batch = storage[torch.randint(0, 8 * (turn + 1), (16,), device=DEVICE)]
                values = net(batch["observation"]).gather(-1, batch["action"])
                with torch.no_grad():
                    best = net(batch["next", "observation"]).max(-1, keepdim=True).values
                    aim = batch["next", "reward"] + 0.9 * best * ~batch["next", "done"]
                (values - aim).pow(2).mean().backward()
                optimizer.step()
                optimizer.zero_grad()
    with case("dispatch"):

        class Net(nn.Module):
            in_keys = ["a", "b"]
            out_keys = ["c"]

            @dispatch
            def forward(self, tensordict):
                tensordict["c"] = tensordict["a"] + tensordict["b"]
                return tensordict

        net = Net()
        for _ in range(5):
            with step("call"):
                net(a=torch.randn(3, 1, device=DEVICE), b=torch.randn(3, 1, device=DEVICE))
