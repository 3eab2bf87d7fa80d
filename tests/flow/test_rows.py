"""No row of the tables goes unnoticed: of a call, a method or a callback of each, what is known with it is written
here, and without it something else is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from transferlint.flow.facts import FileFacts
from transferlint.flow.lattice.values import describe
from transferlint.knowledge import catalogue, frameworks, lookup
from transferlint.knowledge.api import Callback
from transferlint.syntax import program as p

# A call, and what is known of it: what it gives, and how it transfers or waits. `x` is a tensor on the device, `h` one
# on the host, and `self` an object of a class derived from the one that is named before it.
CALLS: dict[str, str] = {
    "torch.zeros(3)": "tensor on host [fresh literal 1-d or more 1-d]",
    "torch.tensor(x)": "tensor on device [fresh literal 1-d or more 2-d], move d2d",
    "torch.Tensor(x)": "tensor on host [fresh literal]",
    "torch.cuda.FloatTensor(x)": "tensor on device [fresh literal], move d2d",
    "torch.zeros_like(h, device='cuda')": "tensor on device [1-d or more 1-d resident derived]",
    "torch.from_numpy(x)": "tensor on host [1-d or more 2-d resident]",
    "torch.autograd.Variable(x)": "tensor on device [fresh resident]",
    "torch.nonzero(x)": "tensor on device [integer 1-d or more 2-d resident], shape none",
    "torch.histc(x)": "tensor on device [1-d or more 1-d resident], shape none",
    "x.to_sparse()": "tensor on device [resident], shape none",
    "torch.equal(x)": "python on host, truth d2h",
    "torch.isnan(x)": "tensor on device [boolean fresh 1-d or more 2-d resident]",
    "torch.all(x)": "tensor on device [boolean fresh 0-d resident]",
    "torch.argmax(x)": "tensor on device [fresh 0-d integer resident]",
    "torch.numel(x)": "python on host",
    "torch.manual_seed()": "python on host",
    "torch.cuda.synchronize()": "python on host, synchronize none",
    "torch.device('cuda')": "device-name on device cuda",
    "x.pin_memory()": "tensor on device [pinned fresh literal 1-d or more 2-d resident]",
    "x.copy_(h)": "tensor on device [fresh literal 1-d or more 2-d resident], copy-into h2d",
    "x.backward()": "python on host",
    "x.new_tensor()": "tensor on device [resident], build h2d",
    "x.new()": "tensor on device [resident derived]",
    "x.new_zeros()": "tensor on device [resident derived]",
    "x.nonzero()": "tensor on device [integer 1-d or more 2-d resident], shape none",
    "x.equal()": "python on host, truth d2h",
    "x.isnan()": "tensor on device [boolean fresh 1-d or more 2-d resident]",
    "x.sum()": "tensor on device [fresh 0-d resident]",
    "x.dim()": "python on host",
    "x.add_()": "tensor on device [fresh 1-d or more 2-d resident]",
    "x.detach()": "tensor on device [fresh 1-d or more 2-d resident]",
    "torch.npu.synchronize()": "python on host, synchronize none",
    "torch.npu.empty_cache()": "python on host, synchronize none",
    "torch.utils.data.DataLoader(x)": "loader on host",
    "torch.utils.data.default_collate(x)": "unknown on host [data]",
    "torch.utils.data.TensorDataset(x)": "unknown on host [data]",
    "torch.utils.data.get_worker_info(x)": "python on host",
    "torch.distributed.all_reduce(x)": "python on host",
    "torch.distributed.barrier()": "python on host, synchronize none",
    "torch.distributed.monitored_barrier()": "python on host",
    "torch.distributed.all_gather_object(x)": "unknown on anywhere, synchronize none",
    "torch.distributed.get_backend(x)": "python on host",
    "torch.distributed.init_process_group()": "python on host",
    "torch.distributed.nn.functional.all_reduce(x)": "tensor on device [fresh resident]",
    "torch.distributed._functional_collectives.all_reduce(x)": "tensor on device [fresh resident]",
    "torch.distributed.Work: self.wait()": "python on host",
    "torch.amp.GradScaler()": "object on anywhere torch.amp.GradScaler",
    "torch.amp.GradScaler().get_scale()": "python on host, scalar-read d2h",
    "torch.amp.GradScaler().step()": "python on host",
    "torch.amp.GradScaler().unscale_()": "python on host",
    "torch.amp.GradScaler().update()": "python on host",
    "torch.amp.GradScaler().scale(x)": "tensor on device [fresh resident]",
    "torch.amp.GradScaler().state_dict()": "python on host, scalar-read d2h",
    "torch.amp.GradScaler().get_growth_factor(x)": "python on host",
    "torch.amp.autocast()": "python on host",
    "torch.optim.Adadelta: self.step()": "python on host",
    "torch.optim.Adafactor: self.step()": "python on host",
    "torch.optim.LBFGS: self.step()": "python on host",
    "torch.optim.swa_utils.AveragedModel(x)": "module on host torch.optim.swa_utils.AveragedModel",
    "torch.optim.swa_utils.AveragedModel().update_parameters()": "python on host, build h2d",
    "torch.optim.lr_scheduler.ReduceLROnPlateau()": "object on anywhere torch.optim.lr_scheduler.ReduceLROnPlateau",
    "torch.optim.lr_scheduler.ReduceLROnPlateau().step(x)": "python on host",
    "torch.optim.Adadelta: self.zero_grad()": "python on host",
    "torch.optim.Adadelta().state_dict()": "python on host",
    "torch.nn.utils.clip_grad_norm_(x)": "tensor on device [fresh resident]",
    "torch.nn.utils.clip_grads_with_norm_(x)": "tensor on device [fresh resident]",
    "torch.nn.utils.rnn.unpad_sequence(x)": "tensor on device [resident], shape none",
    "torch.linalg.inv(x)": "tensor on device [fresh resident], truth d2h",
    "torch.linalg.eig(x)": "container on device [resident] of (tensor on device [fresh resident]), truth d2h",
    "torch.linalg.cond(x)": "tensor on device [fresh resident], truth d2h",
    "torch.cov(x)": "tensor on device [fresh resident], truth d2h",
    "torch.nn.functional.gaussian_nll_loss(x)": "tensor on device [fresh resident], truth d2h",
    "torch.nn.functional.ctc_loss(x, x, x)": "tensor on device [fresh resident], download d2h",
    "torch.combinations(x)": "tensor on device [1-d or more resident], shape none",
    "torch.istft(x)": "tensor on device [fresh resident], truth d2h",
    "x.multinomial()": "tensor on device [fresh integer 1-d or more 2-d resident]",
    "torch.normal(x, x)": "tensor on device [fresh resident], truth d2h",
    "torch.distributions.Bernoulli(x)": "unknown on device torch.distributions.Bernoulli [fresh resident], truth d2h",
    "torch.distributions.Bernoulli().log_prob(x)": "tensor on device [resident], truth d2h",
    "torch.distributions.Normal(x, x).sample()": "tensor on device [resident], truth d2h, truth d2h",
    "torch.distributions.VonMises(x, x).sample()": "tensor on device [resident], truth d2h, truth d2h",
    "torch.distributions.Bernoulli().sample()": "tensor on host [fresh]",
    "torch.distributions.Distribution().set_default_validate_args(x)": "unknown on anywhere",
    "torch_xla.core.xla_model.xla_device('cuda')": "device-name on device cuda",
    "torch_xla.core.xla_model.mark_step()": "python on host",
    "torch_xla.core.xla_model.wait_device_ops()": "python on host, synchronize none",
    "torch_xla.core.xla_model.mesh_reduce(x)": "unknown on anywhere, synchronize none",
    "torch_xla.core.xla_model.master_print(x)": "python on host, format d2h",
    "torch_xla.core.xla_model.optimizer_step()": "python on host",
    "torch_xla.core.xla_model.all_reduce(x)": "tensor on device [fresh resident]",
    "numpy.asarray('a', x)": "array on host",
    "numpy.shape(x)": "python on host",
    "numpy.ndarray.item(x)": "unknown on host [data]",
    "torchvision.transforms.ToTensor(x)": "tensor on host [1-d or more 2-d resident]",
    "torchvision.io.read_image(x)": "unknown on host [data]",
    "torchvision.io.decode_jpeg(3)": "tensor on host [fresh literal]",
    "torchvision.transforms.functional.to_pil_image(x)": "python on host, scalar-read d2h",
    "torchvision.utils.save_image(x)": "python on host, scalar-read d2h",
    "torchvision.utils.make_grid(x)": "tensor on device [fresh resident]",
    "torchvision.ops.nms(x)": "tensor on device [resident], shape none",
    "torchaudio.load(x)": "tensor on host [1-d or more 2-d resident]",
    "torchaudio.info(x)": "python on host",
    "torchaudio.save(x)": "python on host, scalar-read d2h",
    "torchaudio.transforms.something(x)": "module on host torchaudio.transforms.something",
    "lightning.Fabric()": "object on anywhere lightning.Fabric",
    "lightning.LightningModule: self.log()": "python on host",
    "lightning.LightningModule: self.print(x)": "python on host, format d2h",
    "lightning.LightningModule: self.all_gather(x)": "tensor on device [fresh resident]",
    "lightning.LightningModule: self.manual_backward()": "python on host",
    "lightning.LightningModule: self.clip_gradients()": "python on host",
    "lightning.LightningModule: self.transfer_batch_to_device(x)":
        "tensor on device-if-given [1-d or more 2-d resident], move d2d",
    "lightning.fabric.utilities.move_data_to_device(x)":
        "tensor on device-if-given [1-d or more 2-d resident], move d2d",
    "lightning.Fabric().log(x)": "python on host, scalar-read d2h",
    "lightning.Fabric().print(x)": "python on host, format d2h",
    "lightning.Fabric().to_device(x)": "tensor on device-if-given [1-d or more 2-d resident], move d2d",
    "lightning.Fabric().setup(3, device='cuda')": "container on device-if-given",
    "lightning.Fabric().backward()": "python on host",
    "lightning.Fabric().all_gather(x)": "tensor on device [fresh resident]",
    "lightning.Fabric().barrier()": "python on host, synchronize none",
    "lightning.Fabric().clip_gradients(x)": "tensor on device [fresh resident], truth d2h",
    "lightning.Fabric().launch()": "python on host",
    "lightning.Trainer().fit()": "python on host",
    "accelerate.Accelerator()": "object on anywhere accelerate.Accelerator",
    "accelerate.Accelerator().prepare(3, device='cuda')": "container on device-if-given",
    "accelerate.Accelerator().gather(x)": "tensor on device [fresh resident]",
    "accelerate.Accelerator().gather_for_metrics(x)": "tensor on device [fresh resident]",
    "accelerate.Accelerator().pad_across_processes(x)": "tensor on device [resident], shape none",
    "accelerate.Accelerator().backward()": "python on host",
    "accelerate.Accelerator().clip_grad_norm_(x)": "tensor on device [fresh resident]",
    "accelerate.Accelerator().clip_grad_value_()": "python on host",
    "accelerate.Accelerator().log(x)": "python on host, scalar-read d2h",
    "accelerate.Accelerator().print(x)": "python on host, format d2h",
    "accelerate.Accelerator().wait_for_everyone()": "python on host, synchronize none",
    "accelerate.Accelerator().check_trigger()": "python on host, scalar-read d2h",
    "accelerate.Accelerator().accumulate()": "python on host",
    "accelerate.utils.send_to_device(x)": "tensor on device-if-given [1-d or more 2-d resident], move d2d",
    "accelerate.utils.gather(x)": "tensor on device [fresh resident]",
    "accelerate.utils.gather_object(x)": "unknown on anywhere, synchronize none",
    "accelerate.utils.pad_across_processes(x)": "tensor on device [resident], shape none",
    "accelerate.utils.set_seed()": "python on host",
    "transformers.GenerationMixin: self.generate()": "tensor on device-if-given [resident]",
    "transformers.PreTrainedTokenizer: self.decode(x)": "python on host, scalar-read d2h",
    "transformers.PreTrainedTokenizer: self.encode(x)": "unknown on host [data]",
    "transformers.Trainer: self.log(x)": "python on host, format d2h",
    "transformers.Trainer: self._prepare_inputs(x)": "tensor on device-if-given [1-d or more 2-d resident], move d2d",
    "transformers.set_seed()": "python on host",
    "transformers.trainer_pt_utils.nested_numpify(x)": "python on host, scalar-read d2h",
    "ignite.utils.convert_tensor(x)": "tensor on device-if-given [1-d or more 2-d resident], move d2d",
    "ignite.metrics.Metric: self.compute()": "tensor on device-if-given [resident]",
    "ignite.distributed.all_reduce(x)": "tensor on device [fresh resident]",
    "ignite.distributed.barrier()": "python on host, synchronize none",
    "ignite.distributed.get_local_rank(x)": "python on host",
    "ignite.distributed.auto_model(x)": "tensor on device [fresh literal 1-d or more 2-d resident]",
    "einops.rearrange(x)": "tensor on device [fresh resident]",
    "einops.asnumpy(x)": "python on host",
    "einops.parse_shape(x)": "python on host",
    "einops.layers.torch.Rearrange(x)": "module on host einops.layers.torch.Rearrange",
    "tensordict.TensorDict()": "object on anywhere tensordict.TensorDict",
    "tensordict.TensorDict().numpy(x)": "python on host, scalar-read d2h",
    "tensordict.TensorDict().gather(0, x)": "tensor on device [fresh resident]",
    "tensordict.TensorDict().keys(x)": "python on host",
    "torch_geometric.loader.GraphSAINTRandomWalkSampler(x)": "loader on host",
    "torch_geometric.data.Data()": "object on anywhere torch_geometric.data.Data",
    "torch_geometric.data.Data().clone()": "object on anywhere torch_geometric.data.Data",
    "torch_geometric.data.Data().coalesce(x)": "tensor on device [resident], shape none",
    "torch_geometric.data.Batch().to_data_list(x)": "tensor on device [resident], shape none",
    "torch_geometric.data.Batch().from_data_list(x)": "tensor on device [fresh resident]",
    "torch_geometric.data.Data().keys(x)": "python on host",
    "torch_geometric.utils.scatter(x)": "tensor on device [resident], shape none",
    "torch_geometric.utils.softmax(x)": "tensor on device [resident], shape none",
    "torch_geometric.utils.to_dense_batch(x)": "tensor on device [resident], shape none",
    "torch_geometric.utils.to_dense_adj(x)": "tensor on device [resident], shape none",
    "torch_geometric.utils.remove_self_loops(x)": "tensor on device [resident], shape none",
    "torch_geometric.utils.unbatch(x)": "tensor on device [resident], shape none",
    "torch_geometric.utils.contains_self_loops(x)": "python on host, truth d2h",
    "torch_geometric.nn.global_add_pool(x)": "tensor on device [resident], shape none",
    "torchmetrics.Metric: self.update()": "python on host",
    "torchmetrics.Metric: self.compute()": "tensor on device-if-given [resident]",
    "torch.utils.tensorboard.SummaryWriter()": "object on anywhere torch.utils.tensorboard.SummaryWriter",
    "torch.utils.tensorboard.SummaryWriter().add_scalar(x)": "python on host, scalar-read d2h",
    "torch.utils.tensorboard.SummaryWriter().add_tensor(x)": "python on host, scalar-read d2h",
    "torch.utils.tensorboard.SummaryWriter().add_text()": "python on host",
    "wandb.log(x)": "python on host, scalar-read d2h",
    "wandb.Image(x)": "python on host, scalar-read d2h",
    "wandb.init()": "object on anywhere wandb.init",
    "wandb.watch()": "python on host",
    "mlflow.log_metric(x)": "python on host, scalar-read d2h",
    "mlflow.log_param()": "python on host",
    "swanlab.log(x)": "python on host, scalar-read d2h",
    "tqdm.tqdm(x)": "tensor on device [fresh literal 1-d or more 2-d resident]",
    "tqdm.trange(x)": "unknown on host [data]",
    "tqdm.tqdm.set_postfix(x)": "python on host, format d2h",
    "tqdm.tqdm.set_description(x)": "python on host, format d2h",
    "tqdm.tqdm.update()": "python on host",
}  # fmt: skip
# Methods and functions that the analysis knows by their names alone, whatever they belong to. The rows say so for
# runs, which hold them against the library.
BY_NAME = {
    "Tensor.cpu", "Tensor.numpy", "Tensor.item", "Tensor.to", "Tensor.cuda", "Tensor.npu", "builtins.len",
    "monai.data.DataLoader", "torch.optim.Adadelta", "torch.nn.utils.rnn.pad_sequence",
    "torch.nn.utils.rnn.pad_packed_sequence", "torch.nn.utils.rnn.pack_padded_sequence",
}  # fmt: skip
# A method, and what is known of the code of one of this name in a class derived from its own.
HOOKS: dict[str, str] = {
    "lightning.LightningModule.training_step":
        "per_step, hot, known `training_step` runs per step (lightning.ai docs pytorch 'LightningModule'); "
        "unknown on device-if-given [from argument resident derived]",
    "lightning.LightningModule.on_train_batch_start":
        "per_step, hot, known `on_train_batch_start` runs per step (lightning.ai docs pytorch 'Hooks in "
        "PyTorch Lightning'); unknown on device-if-given [from argument resident derived]",
    "lightning.LightningModule.optimizer_step":
        "per_step, hot, known `optimizer_step` runs per step (lightning.ai docs pytorch 'Hooks in PyTorch "
        "Lightning'); unknown on device-if-given [from argument resident derived]",
    "lightning.LightningModule.on_train_epoch_start":
        "once seen, not hot, known `on_train_epoch_start` runs per epoch (lightning.ai docs pytorch 'Hooks "
        "in PyTorch Lightning'); unknown on anywhere [from argument derived]",
    "lightning.LightningModule.on_fit_start":
        "once seen, not hot, known `on_fit_start` runs once (lightning.ai docs pytorch 'Hooks in PyTorch "
        "Lightning'); unknown on anywhere [from argument derived]",
    "lightning.LightningModule.setup":
        "once seen, not hot, known `setup` runs once (lightning.ai docs pytorch 'Hooks in PyTorch "
        "Lightning'); unknown on anywhere [from argument derived]",
    "transformers.Trainer.training_step":
        "per_step, hot, known `training_step` runs per step (huggingface.co docs transformers 'Trainer'); "
        "unknown on device-if-given [from argument resident derived]",
    "transformers.Trainer._prepare_inputs":
        "per_step, hot, known `_prepare_inputs` runs per step (huggingface.co docs transformers 'Trainer'); "
        "unknown on device-if-given [from argument resident derived]",
    "transformers.TrainerCallback.on_step_begin":
        "per_step, hot, known `on_step_begin` runs per step (huggingface.co docs transformers 'Callbacks'); "
        "unknown on device-if-given [from argument resident derived]",
    "transformers.TrainerCallback.on_log":
        "once seen, not hot, known `on_log` runs per epoch (huggingface.co docs transformers 'Callbacks'); "
        "unknown on anywhere [from argument derived]",
    "transformers.TrainerCallback.on_epoch_begin":
        "once seen, not hot, known `on_epoch_begin` runs per epoch (huggingface.co docs transformers "
        "'Callbacks'); unknown on anywhere [from argument derived]",
    "transformers.TrainerCallback.on_init_end":
        "once seen, not hot, known `on_init_end` runs once (huggingface.co docs transformers 'Callbacks'); "
        "unknown on anywhere [from argument derived]",
    "transformers.Trainer.log":
        "once seen, not hot, known `log` runs per epoch (huggingface.co docs transformers 'Trainer'); "
        "unknown on anywhere [from argument derived]",
    "transformers.Trainer.create_optimizer":
        "once seen, not hot, known `create_optimizer` runs once (huggingface.co docs transformers "
        "'Trainer'); unknown on anywhere [from argument derived]",
    "ignite.metrics.Metric.update":
        "per_step, hot, known `update` runs per step (docs.pytorch.org ignite 'ignite.metrics' Metric); "
        "unknown on device-if-given [from argument resident derived]",
    "ignite.metrics.Metric.reset":
        "once seen, not hot, known `reset` runs per epoch (docs.pytorch.org ignite 'ignite.metrics' "
        "EpochWise); unknown on anywhere [from argument derived]",
    "torchmetrics.Metric.update":
        "per_step, hot, known `update` runs per step (lightning.ai docs torchmetrics 'torchmetrics.Metric' "
        "update); unknown on device-if-given [from argument resident derived]",
    "torchmetrics.Metric.compute":
        "once seen, not hot, known `compute` runs per epoch (lightning.ai docs torchmetrics "
        "'torchmetrics.Metric' compute); unknown on anywhere [from argument derived]",
    "composer.Callback.before_dataloader":
        "per_step, hot, known `before_dataloader` runs per step (docs.mosaicml.com composer 'Events'); "
        "unknown on device-if-given [from argument resident derived]",
    "composer.Callback.iteration_start":
        "once seen, not hot, known `iteration_start` runs per epoch (docs.mosaicml.com composer 'Events'); "
        "unknown on anywhere [from argument derived]",
    "composer.Callback.init":
        "once seen, not hot, known `init` runs once (docs.mosaicml.com composer 'Events'); unknown on "
        "anywhere [from argument derived]",
}  # fmt: skip
# A call that is given `inner`, and what is known of the code of that.
CALLBACKS: dict[str, str] = {
    "torch.nn.Linear(3, 3).register_forward_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.nn.Linear(3, 3).register_forward_pre_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.nn.Linear(3, 3).register_full_backward_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.nn.Linear(3, 3).register_full_backward_pre_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.ones(3).register_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.ones(3).register_post_accumulate_grad_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.optim.SGD(x).register_step_pre_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.optim.SGD(x).register_step_post_hook(hook=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.utils.checkpoint.checkpoint(function=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.nn.Linear(3, 3).register_state_dict_pre_hook(hook=inner)":
        "once seen, not hot, for no reason; unknown on anywhere [from argument derived]",
    "torch.nn.Linear(3, 3).register_load_state_dict_post_hook(hook=inner)":
        "once seen, not hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Trainer(compute_metrics=inner)":
        "per_epoch seen, not hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Trainer(preprocess_logits_for_metrics=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Trainer(compute_loss_func=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Trainer(data_collator=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Seq2SeqTrainer(compute_metrics=inner)":
        "per_epoch seen, not hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Seq2SeqTrainer(preprocess_logits_for_metrics=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Seq2SeqTrainer(compute_loss_func=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.Seq2SeqTrainer(data_collator=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer.Trainer(compute_metrics=inner)":
        "per_epoch seen, not hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer.Trainer(preprocess_logits_for_metrics=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer.Trainer(compute_loss_func=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer.Trainer(data_collator=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer_seq2seq.Seq2SeqTrainer(compute_metrics=inner)":
        "per_epoch seen, not hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer_seq2seq.Seq2SeqTrainer(preprocess_logits_for_metrics=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer_seq2seq.Seq2SeqTrainer(compute_loss_func=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "transformers.trainer_seq2seq.Seq2SeqTrainer(data_collator=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.Engine(process_function=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.engine.Engine(process_function=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.create_supervised_trainer(prepare_batch=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.create_supervised_trainer(output_transform=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.create_supervised_trainer(model_transform=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.create_supervised_evaluator(prepare_batch=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.create_supervised_evaluator(output_transform=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
    "ignite.engine.create_supervised_evaluator(model_transform=inner)":
        "per_step seen, hot, for no reason; unknown on anywhere [from argument derived]",
}  # fmt: skip


# A name of a row of a framework beside torch, a call, and what is known of it.
BESIDE_TORCH: tuple[tuple[str, str, str], ...] = (
    ("jax.device_put", "jax.device_put(numpy.zeros(2))", "tensor on device-if-given [jax resident]"),
    ("jax.device_get", "jax.device_get(jax.numpy.zeros(2))", "array on host, download d2h"),
    ("jax.block_until_ready", "jax.block_until_ready(jax.numpy.zeros(2))",
     "tensor on device-if-given [jax resident], synchronize none"),
    ("jax.numpy.nonzero", "jax.numpy.nonzero(jax.numpy.ones(2))",
     "tensor on device-if-given [jax resident], shape none"),
    ("jax.numpy.shape", "jax.numpy.shape(jax.numpy.zeros(2))", "python on host"),
    ("jax.lax.axis_size", "jax.device_count()", "python on host"),
    ("jax.tree_map", "jax.tree_util.tree_map(lambda x: x + 1, [jax.numpy.zeros(2)])",
     "unknown on device-if-given [jax resident]"),
    ("flax.jax_utils.replicate", "optax.apply_updates([jax.numpy.zeros(2)], [jax.numpy.ones(2)])",
     "unknown on device-if-given [jax resident]"),
    ("jax.pure_callback", "jax.debug.print('{}', jax.numpy.zeros(1))",
     "unknown on device-if-given [jax resident], callback d2h"),
    ("jax.dlpack.from_dlpack", "jax.dlpack.from_dlpack(numpy.zeros(2))", "tensor on device-if-given [jax resident]"),
    ("jax.numpy.all", "jax.numpy.allclose(jax.numpy.zeros(2), 0)", "tensor on device-if-given [jax boolean resident]"),
    ("jax.numpy.*", "jax.numpy.exp(jax.numpy.zeros(2))", "tensor on device-if-given [jax resident]"),
    ("optax.softmax_cross_entropy", "optax.l2_loss(jax.numpy.ones(2))", "tensor on device-if-given [jax resident]"),
    ("jax.Array.item", "jax.numpy.ones(()).item()", "python on host, scalar-read d2h"),
    ("jax.Array.__array__", "jax.numpy.ones(2).__array__()", "array on host, download d2h"),
    ("jax.Array.block_until_ready", "jax.numpy.ones(2).block_until_ready()",
     "tensor on device-if-given [jax resident], synchronize none"),
    ("jax.Array.devices", "jax.numpy.ones(2).devices()", "python on host"),
    ("jax.Array.nonzero", "jax.numpy.ones(2).nonzero()",
     "tensor on device-if-given [jax 1-d or more 2-d resident], shape none"),
    ("jax.Array.all", "jax.numpy.ones(2).all()", "tensor on device-if-given [jax boolean 0-d resident]"),
    ("jax.Array.*", "jax.numpy.ones(2).weights()", "tensor on device-if-given [jax resident]"),
    ("tensorflow.shape", "tensorflow.shape(tensorflow.zeros(2))", "tensor on host [tensorflow]"),
    ("tensorflow.is_tensor", "tensorflow.is_tensor(1)", "unknown on host"),
    ("tensorflow.make_ndarray", "tensorflow.get_static_value(tensorflow.constant(1))", "unknown on host"),
    ("tensorflow.test.experimental.sync_devices", "tensorflow.test.experimental.sync_devices()",
     "python on host, synchronize none"),
    ("tensorflow.boolean_mask", "tensorflow.unique(tensorflow.ones(2))",
     "tensor on device-if-given [tensorflow resident], shape none"),
    ("tensorflow.py_function", "tensorflow.numpy_function(lambda x: x, [tensorflow.zeros(2)], tensorflow.float32)",
     "unknown on device-if-given [tensorflow resident], callback d2h"),
    ("tensorflow.print", "tensorflow.print(tensorflow.zeros(1))", "python on host"),
    ("tensorflow.data.Dataset.*", "tensorflow.data.Dataset.from_tensor_slices([1.0, 2.0])",
     "loader on host [tensorflow data]"),
    ("keras.Sequential", "keras.Sequential([keras.layers.Dense(1)])",
     "module on device-if-given keras.Model [tensorflow resident]"),
    ("keras.layers.*", "keras.layers.Dense(1)", "module on device-if-given keras.layers.Dense [tensorflow resident]"),
    ("keras.optimizers.*", "keras.optimizers.SGD()",
     "optimizer on device-if-given keras.optimizers.SGD [tensorflow resident]"),
    ("keras.Model.predict", "keras.Sequential([keras.layers.Dense(1)]).predict(numpy.zeros((1, 2)), verbose=0)",
     "array on host, download d2h"),
    ("keras.Model.train_on_batch", "keras.Model().train_on_batch(batch)", "python on host"),
    ("keras.backend.get_value", "keras.ops.convert_to_numpy(keras.ops.ones(2))", "array on host, download d2h"),
    ("keras.ops.shape", "keras.backend.floatx()", "python on host"),
    ("keras.ops.*", "keras.ops.exp(keras.ops.zeros(2))", "tensor on device-if-given [tensorflow resident]"),
    ("keras.*", "keras.utils.set_random_seed(0)", "unknown on host"),
    ("tensorflow.*", "tensorflow.exp(tensorflow.zeros(2))", "tensor on device-if-given [tensorflow resident]"),
    ("tensorflow.Tensor.numpy", "tensorflow.zeros(2).numpy()", "array on host, download d2h"),
    ("tensorflow.Tensor.__float__", "tensorflow.ones(2).__float__()", "python on host, scalar-read d2h"),
    ("tensorflow.Tensor.get_shape", "tensorflow.zeros(2).get_shape()", "python on host"),
    ("tensorflow.Tensor.cpu", "tensorflow.zeros(2).cpu()", "tensor on host [tensorflow], download d2h"),
    ("cupy.array", "cupy.asarray([1.0, 2.0])", "tensor on device [cupy resident], build h2d"),
    ("cupy.asnumpy", "cupy.asnumpy(cupy.zeros(2))", "array on host, download d2h"),
    ("cupy.nonzero", "cupy.nonzero(cupy.ones(2))", "tensor on device [cupy resident], shape none"),
    ("cupyx.scipy.get_array_module", "cupyx.scipy.sparse.issparse(cupy.zeros(2))", "python on host"),
    ("cupy.shape", "cupy.ndim(cupy.zeros(2))", "python on host"),
    ("cupy.cuda.runtime.deviceSynchronize", "cupy.cuda.runtime.deviceSynchronize()",
     "python on host, synchronize none"),
    ("cupy.cuda.*", "cupy.random.seed(0)", "unknown on host"),
    ("cupy.all", "cupy.isnan(cupy.zeros(2))", "tensor on device [cupy boolean resident]"),
    ("cupy.*", "cupy.exp(cupy.zeros(2))", "tensor on device [cupy resident]"),
    ("cupy.ndarray.item", "cupy.ones(()).item()", "python on host, scalar-read d2h"),
    ("cupy.ndarray.get", "cupy.ones(2).get()", "array on host, download d2h"),
    ("cupy.ndarray.nonzero", "cupy.ones(2).nonzero()", "tensor on device [cupy 1-d or more 2-d resident], shape none"),
    ("cupy.ndarray.all", "cupy.ones(2).all()", "tensor on device [cupy boolean 0-d resident]"),
)  # fmt: skip
# What says of a name what is taken to hold of all others of its framework.
AS_OTHERS = {
    "jax.numpy.zeros", "jax.numpy.array", "jax.config.update", "tensorflow.zeros", "tensorflow.constant",
    "tensorflow.identity", "tensorflow.config.experimental.get_memory_info", "tensorflow.where",
    "keras.ops.convert_to_tensor", "tensorflow.Tensor.gpu", "tensorflow.Tensor.*", "cupy.zeros",
    "cupy.from_dlpack", "cupy.ndarray.*",
}  # fmt: skip
ROOTS = {*frameworks.ROOTS, "optax", "keras", "cupyx", "flax"}
OWNERS = ("Module", "Tensor", "torch.optim.Optimizer")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Any], None]]:
    """`without(table, row)` takes a row out of one of the catalogue's tables for the rest of the test."""

    def taken_out(name: str, row: Any) -> None:
        tables = getattr(catalogue, name)
        monkeypatch.setattr(catalogue, name, tuple(tuple(one for one in rows if one is not row) for rows in tables))
        forgotten()

    yield taken_out
    monkeypatch.undo()
    forgotten()


@pytest.fixture
def without_beside_torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """`without_beside_torch(name)` takes the row of a name out of the tables of the frameworks beside torch."""

    def taken_out(name: str) -> None:
        shorter = [
            dataclasses.replace(one, table=tuple(row for row in one.table if name not in row.names))
            for one in frameworks.FRAMEWORKS
        ]
        monkeypatch.setattr(frameworks, "FRAMEWORKS", tuple(shorter))
        monkeypatch.setattr(frameworks, "ROOTS", {root: one for one in shorter for root in one.roots})
        forgotten()

    yield taken_out
    monkeypatch.undo()
    forgotten()


@pytest.mark.parametrize(("call", "known"), CALLS.items())
def test_what_is_known_of_a_call_rests_on_its_row(
    call: str, known: str, look: Any, without: Callable[[str, Any], None]
) -> None:
    assert said_of_call(look, call) == known
    without("TABLES", lookup.row_of(named(call)))
    assert said_of_call(look, call) != known


@pytest.mark.parametrize(("name", "known"), HOOKS.items())
def test_what_is_known_of_a_hook_rests_on_its_row(
    name: str, known: str, look: Any, without: Callable[[str, Any], None]
) -> None:
    assert said_of_hook(look, name) == known
    without("HOOKS", catalogue.hook(name))
    assert said_of_hook(look, name) != known


@pytest.mark.parametrize(("call", "known"), CALLBACKS.items())
def test_what_is_known_of_a_callback_rests_on_its_row(
    call: str, known: str, look: Any, without: Callable[[str, Any], None]
) -> None:
    assert said_of_callback(look, call) == known
    without("CALLBACKS", callback(call))
    assert said_of_callback(look, call) != known


def test_every_row_is_among_them() -> None:
    called = [lookup.row_of(named(call)) for call in CALLS]
    hooked, given = [catalogue.hook(name) for name in HOOKS], [callback(call) for call in CALLBACKS]
    rows = [row for rows in catalogue.TABLES for row in rows]
    assert [row.names for row in rows if row not in called and BY_NAME.isdisjoint(row.names)] == []
    assert BY_NAME - {name for row in rows for name in row.names} == set()
    assert [row.names for rows in catalogue.HOOKS for row in rows if row not in hooked] == []
    assert [row for rows in catalogue.CALLBACKS for row in rows if row not in given] == []


@pytest.mark.parametrize(("name", "call", "known"), BESIDE_TORCH)
def test_what_is_known_of_a_call_of_another_framework_rests_on_its_row(
    name: str, call: str, known: str, look: Any, without_beside_torch: Callable[[str], None]
) -> None:
    assert said_beside_torch(look, call) == known
    without_beside_torch(name)
    assert said_beside_torch(look, call) != known


def test_every_row_of_other_frameworks_is_among_them() -> None:
    called = {name for name, _, _ in BESIDE_TORCH} | AS_OTHERS
    rows = [row for framework in frameworks.FRAMEWORKS for row in framework.table]
    assert [row.names for row in rows if called.isdisjoint(row.names)] == []
    assert AS_OTHERS - {name for row in rows for name in row.names} == set()


def forgotten() -> None:
    """Forget what was worked out from the tables."""
    for module in (catalogue, lookup, frameworks):
        for one in vars(module).values():
            if hasattr(one, "cache_clear"):
                one.cache_clear()


def bare(call: str) -> str:
    """A call without its arguments."""
    return re.sub(r"\([^()]*\)", "", call)


def named(call: str) -> str:
    """The qualified name of what is called."""
    owner, colon, rest = call.partition(": self.")
    name = bare(f"{owner}.{rest}" if colon else call)
    root = name.partition(".")[0]
    return re.sub(r"^[xh]\.", "Tensor.", name.replace("torch.nn.Linear.", "Module.")) if root != name else name


def callback(call: str) -> Callback:
    """The row of a function that a call is given."""
    name = re.sub(r"^(torch\.nn\.Linear\.|torch\.ones\.|torch\.optim\.SGD\.)", "", bare(call))
    (row,) = [
        row
        for rows in catalogue.CALLBACKS
        for row in rows
        if row.callee in (name, *(f"{owner}.{name}" for owner in OWNERS)) and f"{row.argument}=" in call
    ]
    return row


def said_of_call(look: Any, call: str) -> str:
    """What a call gives, and its transfers."""
    owner, derived, call = call.rpartition(": ")
    text = f"{imports(named(f'{owner}{derived}{call}'))}class Own({owner}):\n    def go(self, batch, layer):\n"
    text += '        x = torch.randn(3, 3, device="cuda")\n        h = torch.randn(3)\n'
    return said_of_result(look(f"{text}        out = {call}\n").facts)


def said_of_result(facts: FileFacts) -> str:
    (function,) = [one for one in facts.functions if one.function.name == "go"]
    made = [one.value for one in function.code if isinstance(one, p.Store)][-1]
    value = describe(function.values[made]).partition(" reads ")[0].partition(" uploads ")[0]
    return ", ".join([value, *(f"{one.kind} {one.direction.value}" for one in function.transfers)])


def said_beside_torch(look: Any, call: str) -> str:
    """What a call of another framework gives, and its transfers."""
    roots = sorted(
        {name for name in re.findall(r"\b([a-z]\w+)\.[a-z_]", call, re.IGNORECASE) if name in ROOTS} | {"numpy"}
    )
    looked = look("".join(f"import {root}\n" for root in roots) + f"\ndef go(batch):\n    out = {call}\n")
    return said_of_result(looked.facts)


def said_of_hook(look: Any, name: str) -> str:
    """How often a hook's code runs, and where its argument is."""
    owner, _, method = name.rpartition(".")
    return said_of_code(look(f"{imports(name)}class Own({owner}):\n    def {method}(self, y):\n        y.item()\n"))


def said_of_callback(look: Any, call: str) -> str:
    """How often the code of what a call is given runs, and where its argument is."""
    text = f"{imports(bare(call))}def inner(y):\n    y.item()\n\ndef setup(x):\n    {call}\n"
    return said_of_code(look(text))


def said_of_code(looked: Any) -> str:
    warmth = looked.warmth("y.item()")
    why = warmth.cold or warmth.amortised or warmth.reason
    words = f"{why.cause.name.lower()} {why.name}" if why else "for no reason"
    level = f"{warmth.level.name.lower()}{' seen' if warmth.seen else ''}, {'hot' if warmth.hot else 'not hot'}"
    return f"{level}, {words}; {describe(looked.value('y'))}"


def imports(name: str) -> str:
    """The imports that a qualified name needs."""
    module = name.rpartition(".")[0]
    while module.rpartition(".")[2][:1].isupper() or module == "numpy.ndarray":
        module = module.rpartition(".")[0]
    return f"import torch\n{f'import {module}' if module else ''}\n\n"
