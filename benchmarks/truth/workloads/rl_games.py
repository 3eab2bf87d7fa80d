"""rl-games: agents of its runner, on an environment whose states are on the device."""

from __future__ import annotations

import tempfile

import gymnasium
import numpy as np
import torch
from rl_games.common import env_configurations, vecenv
from rl_games.common.ivecenv import IVecEnv
from rl_games.torch_runner import Runner

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE, calls

PACKAGE = Package("rl-games==1.6.5", alone=True, kept_out=True, extra=("gymnasium", "gym", "tensorboardX", "tensorboard", "psutil", "pyyaml", "setproctitle", "watchdog"), seconds=500)  # fmt: skip
ACTORS = 8


class _Points(IVecEnv):
    """Points that are pushed to the origin; all of it on the device, as in simulators of robots."""

    def __init__(self, config_name, num_actors, discrete=False, **_):
        self.discrete, self.count = discrete, num_actors
        self.state, self.age = self._begin(num_actors), torch.zeros(num_actors, device=DEVICE)

    @staticmethod
    def _begin(count):
        return torch.randn(count, 4, device=DEVICE)

    def step(self, actions):
        push = actions.float().reshape(self.count, -1).mean(1, keepdim=True)
        self.state = self.state * 0.95 + 0.05 * push
        self.age += 1
        over = self.age >= 20
        self.state = torch.where(over[:, None], self._begin(self.count), self.state)
        self.age = torch.where(over, 0.0, self.age)
        return {"obs": self.state}, -self.state.norm(dim=1), over, {"time_outs": over}

    def reset(self):
        return {"obs": self.state}

    def reset_done(self):
        return {"obs": self.state}

    def get_number_of_agents(self):
        return 1

    def get_env_info(self):
        box = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        actions = gymnasium.spaces.Discrete(3) if self.discrete else gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        return {"observation_space": box, "action_space": actions, "agents": 1, "value_size": 1}


def _config(algorithm, model, discrete, network=None, **more):
    space = {"discrete": {}} if discrete else {"continuous": {
        "mu_activation": "None", "sigma_activation": "None", "mu_init": {"name": "default"},
        "sigma_init": {"name": "const_initializer", "val": 0}, "fixed_sigma": True}}  # fmt: skip
    body = {
        "name": "actor_critic", "separate": False, "space": space,
        "mlp": {"units": [32, 16], "activation": "elu", "d2rl": False, "initializer": {"name": "default"},
                "regularizer": {"name": "None"}}, **(network or {}),
    }  # fmt: skip
    config = {
        "name": "points", "env_name": "points", "device": DEVICE, "device_name": DEVICE, "num_actors": ACTORS,
        "ppo": True, "mixed_precision": False, "normalize_input": True, "normalize_value": True, "normalize_advantage": True,
        "reward_shaper": {"scale_value": 1.0}, "gamma": 0.99, "tau": 0.95, "learning_rate": 3e-4,
        "lr_schedule": "adaptive", "kl_threshold": 0.008, "score_to_win": 20000, "max_epochs": 4, "save_best_after": 100,
        "save_frequency": 0, "print_stats": True, "grad_norm": 1.0, "entropy_coef": 0.01, "truncate_grads": True,
        "e_clip": 0.2, "horizon_length": 8, "minibatch_size": 32, "mini_epochs": 2, "critic_coef": 2, "clip_value": True,
        "bounds_loss_coef": 0.0001, "seq_length": 4, "value_bootstrap": True, **more,
    }  # fmt: skip
    return {"params": {"seed": 1, "algo": {"name": algorithm}, "model": {"name": model}, "load_checkpoint": False,
                       "network": body, "config": config}}  # fmt: skip


def _train(name, algorithm, model, discrete, network=None, **more):
    with case(name), tempfile.TemporaryDirectory() as folder:
        vecenv.register("POINTS", lambda config_name, num_actors, **given: _Points(config_name, num_actors, discrete))
        env_configurations.register("points", {"vecenv_type": "POINTS", "env_creator": lambda **given: None})
        runner = Runner()
        runner.load(_config(algorithm, model, discrete, network, train_dir=folder, **more))
        agent = runner.algo_factory.create(runner.algo_name, base_name="run", params=runner.params)
        bound(agent.model, "step")
        agent.train()


@workload
def acting():
    recurrent = {"rnn": {"name": "lstm", "units": 16, "layers": 1, "before_mlp": False}}
    _train("continuous", "a2c_continuous", "continuous_a2c_logstd", False)
    _train("continuous mixed", "a2c_continuous", "continuous_a2c_logstd", False, mixed_precision=True)
    _train(
        "continuous linear", "a2c_continuous", "continuous_a2c_logstd", False, lr_schedule="linear", clip_value=False
    )
    _train("continuous recurrent", "a2c_continuous", "continuous_a2c_logstd", False, recurrent)
    _train("discrete", "a2c_discrete", "discrete_a2c", True)
    _train("discrete recurrent", "a2c_discrete", "discrete_a2c", True, recurrent)
    _train("separate", "a2c_continuous", "continuous_a2c_logstd", False, {"separate": True})
    with case("soft actor critic"), tempfile.TemporaryDirectory() as folder:
        vecenv.register("POINTS", lambda config_name, num_actors, **given: _Points(config_name, num_actors))
        env_configurations.register("points", {"vecenv_type": "POINTS", "env_creator": lambda **given: None})
        config = _config("sac", "soft_actor_critic", False, {"name": "soft_actor_critic", "log_std_bounds": [-5, 2]})
        config["params"]["network"]["space"] = {"continuous": {}}
        config["params"]["config"].update(
            max_epochs=6, num_steps_per_episode=4, gamma=0.99, init_alpha=1, alpha_lr=5e-3, actor_lr=5e-4, critic_lr=5e-4,
            critic_tau=5e-3, batch_size=16, learnable_temperature=True, num_seed_steps=2, num_warmup_steps=2,
            replay_buffer_size=1000, train_dir=folder,
        )  # fmt: skip
        runner = Runner()
        runner.load(config)
        agent = runner.algo_factory.create(runner.algo_name, base_name="run", params=runner.params)
        bound(agent.model, "step")
        agent.train()


@workload
def parts():
    from rl_games.algos_torch import torch_ext
    from rl_games.algos_torch.moving_mean_std import MovingMeanStd
    from rl_games.algos_torch.running_mean_std import RunningMeanStd
    from rl_games.common import common_losses

    for name, make in (("running", lambda: RunningMeanStd((4,))), ("moving", lambda: MovingMeanStd((4,)))):
        with case(name):
            module = make().to(DEVICE).train()
            for _ in range(6):
                with step("normalise"):
                    module(torch.randn(16, 4, device=DEVICE))
    calls("policy kl", torch_ext.policy_kl, lambda: tuple(torch.rand(8, 2, device=DEVICE) + 0.1 for _ in range(4)))
    calls("actor loss", lambda old, new, gain: common_losses.actor_loss(old, new, gain, True, 0.2),
          lambda: tuple(torch.randn(16, device=DEVICE) for _ in range(3)))  # fmt: skip
    with case("mean of what was played"):
        meter = torch_ext.AverageMeter(1, 20).to(DEVICE)
        for _ in range(6):
            with step("log"):
                meter.update(torch.randn(4, 1, device=DEVICE))
                meter.get_mean()
