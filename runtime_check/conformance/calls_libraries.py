"""Calls of libraries around torch, and why some are not called; see `calls`."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from runtime_check.conformance.calls_around import after, each

_MODEL = "n = torch.nn.Linear(4, 2)"
_ACCELERATOR = "a = Owner()"
_FABRIC = "f = Owner(accelerator='cuda', devices=1); f.launch()"
_DATA = (
    "from torch_geometric.data import Data, Batch\n"
    "e = torch.tensor([[0, 1, 2], [1, 2, 0]], device='cuda'); w = torch.tensor([0, 0, 1], device='cuda')"
)
_TENSORDICT = "t = Owner({'a': x.clone(), 'b': y.clone()}, batch_size=[3])"
_WRITER = "import tempfile; s = Owner(tempfile.mkdtemp())"
_BAR = "import io; q = Owner(range(3), file=io.StringIO(), mininterval=0, miniters=1)"
_RANGE_BAR = _BAR.replace("range(3)", "3")
_METRIC = "from torchmetrics import MeanSquaredError; q = MeanSquaredError().to('cuda'); q.update(v, v)"
_TOKENIZER = (
    "from tokenizers import Tokenizer, models; from transformers import PreTrainedTokenizerFast; q ="
    " PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({'a': 0, 'b': 1, 'c': 2}, 'a')),"
    " pad_token='a')"
)
_GRAPH = "Data(x=x, edge_index=e)"


_ACCELERATE = each(
    "accelerate.Accelerator accelerator.Accelerator",
    {
        "prepare": after(f"{_ACCELERATOR}; {_MODEL}", "a.prepare(n)"),
        "prepare_model": after(f"{_ACCELERATOR}; {_MODEL}", "a.prepare_model(n)"),
        "prepare_data_loader": after(
            f"{_ACCELERATOR}; p = a.prepare_data_loader(torch.utils.data.DataLoader(host, 2))", "next(iter(p))"
        ),
        "prepare_optimizer": "!moves only what the optimizer holds",
        "prepare_scheduler": "!moves nothing of its own",
        "gather": "a.gather(x)", "reduce": "a.reduce(x)",
        "gather_for_metrics": "a.gather_for_metrics(x)",
        "pad_across_processes": "!one process has nothing to pad",
        "backward": after(f"{_ACCELERATOR}; t = (g * 2).sum()", "a.backward(t)"),
        "clip_grad_norm_": after(
            f"{_ACCELERATOR}; p = torch.nn.Parameter(v.clone()); p.grad = v.clone()", "a.clip_grad_norm_([p], 1.0)"
        ),
        "clip_grad_value_": after(
            f"{_ACCELERATOR}; p = torch.nn.Parameter(v.clone()); p.grad = v.clone()", "a.clip_grad_value_([p], 1.0)"
        ),
        "unscale_gradients": "a.unscale_gradients()", "log": "!does nothing without a tracker",
        "print": "a.print(z)", "wait_for_everyone": "!one process waits for nobody",
        "set_trigger": "a.set_trigger()", "check_trigger": "a.check_trigger()",
        "accumulate": "a.accumulate()", "no_sync": after(f"{_ACCELERATOR}; {_MODEL}", "a.no_sync(n)"),
        "autocast": "a.autocast()", "main_process_first": "a.main_process_first()",
        "local_main_process_first": "a.local_main_process_first()", "free_memory": "a.free_memory()",
        "unwrap_model": after(f"{_ACCELERATOR}; {_MODEL}", "a.unwrap_model(n)"), "profile": "a.profile()",
        "skip_first_batches": "a.skip_first_batches(torch.utils.data.DataLoader(host))",
    },
    _ACCELERATOR,
) | {
    "accelerate.Accelerator": "F()", "accelerator.Accelerator": "F()",
    "utils.send_to_device": "F([host], 'cuda')", "operations.send_to_device": "F([host], 'cuda')",
    **{f"accelerate.utils.{name}": after(_ACCELERATOR.replace("Owner", "__import__('accelerate').Accelerator"), "F(x)")
       for name in "gather reduce broadcast operations.gather operations.reduce".split()},
    "accelerate.utils.concatenate": "F([x, y])", "accelerate.utils.set_seed": "F(0)",
}  # fmt: skip
_FABRIC_CALLS = each(
    "lightning.Fabric fabric.Fabric lightning_fabric.Fabric",
    {
        "log": "f.log('a', z)", "log_dict": "f.log_dict({'a': z})", "print": "f.print(z)",
        "to_device": "f.to_device(host)", "setup": after(f"{_FABRIC}; {_MODEL}", "f.setup(n)"),
        "setup_module": after(f"{_FABRIC}; {_MODEL}", "f.setup_module(n)"), "setup_optimizers": "!moves nothing alone",
        "setup_dataloaders": after(
            f"{_FABRIC}; p = f.setup_dataloaders(torch.utils.data.DataLoader(host, 2))", "next(iter(p))"
        ),
        "backward": after(f"{_FABRIC}; t = (g * 2).sum()", "f.backward(t)"),
        "all_gather": "f.all_gather(x)", "all_reduce": "f.all_reduce(x)", "broadcast": "f.broadcast(x)",
        "barrier": "!one process waits for nobody", "seed_everything": "f.seed_everything(0)",
        "autocast": "f.autocast()", "init_tensor": "f.init_tensor().__exit__(None, None, None)",
        "init_module": "f.init_module().__exit__(None, None, None)",
        "launch": after("f = Owner(accelerator='cuda', devices=1)", "f.launch()"),
    },
    _FABRIC,
) | {name: "F()" for name in ("lightning.Fabric", "fabric.Fabric", "lightning_fabric.Fabric")}
_EINOPS: dict[str, Any] = {
    "einops.rearrange": "F(x, 'a b -> b a')", "einops.reduce": "F(x, 'a b -> a', 'sum')",
    "einops.repeat": "F(x, 'a b -> a b c', c=2)", "einops.einsum": "F(x, y, 'a b, a b -> a')",
    "einops.pack": "F([x, y], 'a *')", "einops.unpack": "F(x, [[1], [3]], 'a *')", "einops.parse_shape": "F(x, 'a b')",
    "einops.asnumpy": "F(x)", "torch.Rearrange": "F('a b -> b a')", "torch.Reduce": "F('a b -> a', 'sum')",
    "torch.EinMix": "F('a b -> a c', weight_shape='b c', b=4, c=2)",
}  # fmt: skip
_TENSORDICTS = "tensordict.TensorDict tensordict.tensordict.TensorDict"
_DICTS = each(
    _TENSORDICTS,
    {
        "numpy": "t.numpy()", "tolist": "t.tolist()", "view": "t.view(3, 1)", "reshape": "t.reshape(3, 1)",
        "squeeze": "t.squeeze()", "unsqueeze": "t.unsqueeze(0)", "permute": "t.permute(0)", "expand": "t.expand(2, 3)",
        "select": "t.select('a')", "exclude": "t.exclude('a')", "apply": "t.apply(torch.sin)", "get": "t.get('a')",
        "gather": "t.gather(0, i)", "unbind": "t.unbind(0)", "unflatten_keys": "t.unflatten_keys('.')",
        **{name: f"t.{name}()" for name in "clone detach contiguous flatten_keys to_tensordict mean sum".split()},
        **{name: f"t.{name}()" for name in "keys numel dim size is_empty".split()}, "batch_dims": "t.batch_dims",
    },
    _TENSORDICT,
) | {name: "F({'a': x}, batch_size=[3])" for name in _TENSORDICTS.split()}  # fmt: skip
_GRAPHS: dict[str, Any] = {
    **{
        f"torch_geometric.utils.{name}": after(_DATA, call)
        for name, call in {
            "scatter": "F(x, w)", "softmax": "F(v[:3], w)", "degree": "F(w)", "to_undirected": "F(e)",
            "add_self_loops": "F(e)", "to_dense_batch": "F(x, w)", "to_dense_adj": "F(e)", "remove_self_loops": "F(e)",
            "subgraph": "F(i, e)", "coalesce": "F(e)", "dropout_edge": "F(e)", "k_hop_subgraph": "F(0, 1, e)",
            "dense_to_sparse": "F(m)", "unbatch": "F(x, w)", "unbatch_edge_index": "F(e, w)",
            "contains_self_loops": "F(e)", "contains_isolated_nodes": "F(e)", "is_undirected": "F(e)",
        }.items()
    },
    **{f"torch_geometric.nn.global_{name}_pool": after(_DATA, "F(x, w)") for name in "add mean max".split()},
    **each(
        "data.Data data.Batch",
        {
            **{
                name: after(_DATA + "; d = Data(x=x, edge_index=e)", f"d.{name}()")
                for name in "clone contiguous node_attrs edge_attrs keys coalesce".split()
            },
            "to_data_list": after(_DATA + f"; d = Batch.from_data_list([{_GRAPH}, {_GRAPH}])", "d.to_data_list()"),
            "get_example": after(_DATA + f"; d = Batch.from_data_list([{_GRAPH}, {_GRAPH}])", "d.get_example(1)"),
            "index_select": after(_DATA + f"; d = Batch.from_data_list([{_GRAPH}, {_GRAPH}])", "d.index_select([1])"),
            "from_data_list": after(_DATA, "Batch.from_data_list([Data(x=x), Data(x=y)])"),
        },
        "",
    ),
    "data.Data": "F(x=x)", "data.Batch": "F(x=x)",
}  # fmt: skip
_METRICS: dict[str, Any] = {
    **each(
        "torchmetrics.Metric metric.Metric",
        {"update": "q.update(v, v)", "reset": "q.reset()", "compute": "q.compute()", "forward": "q(v, v)"},
        _METRIC,
    )
}
_LOGS: dict[str, Any] = {
    **each(
        "tensorboard.SummaryWriter writer.SummaryWriter",
        {
            "add_scalar": "s.add_scalar('a', z)", "add_scalars": "s.add_scalars('a', {'b': z})",
            "add_histogram": "s.add_histogram('a', x)", "add_image": "s.add_image('a', x[None])",
            "add_images": "s.add_images('a', x[None, None])", "add_pr_curve": "s.add_pr_curve('a', b[0], v)",
            "add_tensor": "s.add_tensor('a', x)", "add_text": "s.add_text('a', 'b')", "flush": "s.flush()",
            "add_custom_scalars": "s.add_custom_scalars({})", "close": "s.close()",
        },
        _WRITER,
    ),
    "tensorboard.SummaryWriter": after("import tempfile", "F(tempfile.mkdtemp())"),
    "writer.SummaryWriter": after("import tempfile", "F(tempfile.mkdtemp())"),
    **{
        f"{bar}.{name}": after(_RANGE_BAR if bar.endswith("trange") else _BAR, call)
        for bar in "tqdm.tqdm tqdm.trange auto.tqdm auto.trange std.tqdm asyncio.tqdm".split()
        for name, call in {
            "set_postfix": "q.set_postfix(a=z)", "set_description": "q.set_description(f'{z}')",
            "set_description_str": "q.set_description_str(f'{z}')", "set_postfix_str": "q.set_postfix_str(f'{z}')",
            "write": "q.write(f'{z}', file=io.StringIO())", "update": "q.update()", "close": "q.close()",
            "refresh": "q.refresh()", "reset": "q.reset()", "clear": "q.clear()",
        }.items()
    },
    **{bar: after("import io", "F([x], file=io.StringIO())") for bar in ("tqdm.tqdm", "auto.tqdm", "std.tqdm")},
    **{bar: after("import io", "F(3, file=io.StringIO())") for bar in ("tqdm.trange", "auto.trange")},
    **each(
        "PreTrainedTokenizer PreTrainedTokenizerFast PreTrainedTokenizerBase AutoTokenizer",
        {
            "decode": "q.decode(i)", "batch_decode": "q.batch_decode(i[None])",
            "convert_ids_to_tokens": "q.convert_ids_to_tokens(i)", "encode": "q.encode('a b')",
            "encode_plus": "q.encode_plus('a b')", "batch_encode_plus": "q.batch_encode_plus(['a b'])",
            "__call__": "q('a b', return_tensors='pt')['input_ids']", "pad": "q.pad([{'input_ids': [0, 1]}])",
            "apply_chat_template": "!needs a template", "tokenize": "q.tokenize('a b')",
        },
        _TOKENIZER,
    ),
    "transformers.set_seed": "F(0)", "trainer_pt_utils.nested_numpify": "F([x])",
    **{
        f"{owner}.generate": after(
            "from transformers import GPT2Config, GPT2LMHeadModel; q = GPT2LMHeadModel(GPT2Config(vocab_size=32,"
            " n_positions=16, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=1)).to('cuda').eval()",
            "q.generate(i[None], max_new_tokens=2, pad_token_id=1, do_sample=False)",
        )
        for owner in ("GenerationMixin", "PreTrainedModel")
    },
    "ignite.utils.convert_tensor": "F(host, device='cuda')",
    "ignite.distributed.device": "F()", "ignite.distributed.get_rank": "F()", "ignite.distributed.backend": "F()",
    "ignite.distributed.get_world_size": "F()", "ignite.distributed.get_local_rank": "F()",
    "ignite.distributed.barrier": "!one process waits for nobody", "ignite.distributed.all_reduce": "F(x)",
    "ignite.distributed.all_gather": "F(x)", "ignite.distributed.broadcast": "F(x)",
    "ignite.distributed.auto_model": after(_MODEL, "F(n)"),
    "vision.nms": "F(x, v[:3], 0.5)", "ops.nms": "F(x, v[:3], 0.5)", "ops.batched_nms": "F(x, v[:3], i, 0.5)",
    "transforms.functional.to_pil_image": "F(x[None])", "v2.functional.to_pil_image": "F(x[None])",
    "torchvision.utils.save_image": after("import io", "F(x[None], io.BytesIO(), format='png')"),
    "torchvision.utils.make_grid": "F(x[None, None])",
    "move_data_to_device": "F(host, torch.device('cuda'))",
    "wandb.Image": "F(x)", "wandb.Histogram": "F(x)",
}  # fmt: skip

CALLS: Mapping[str, Any] = types.MappingProxyType(
    _ACCELERATE
    | _FABRIC_CALLS
    | _EINOPS
    | _DICTS
    | _GRAPHS
    | _METRICS
    | _LOGS
)
# Why names that no table has are not called, by the beginning of the name.
REASONS: Mapping[str, str] = types.MappingProxyType(
    {
        "torch.distributed.fsdp": "!needs a sharded model and several processes",
        "torch.distributed": "!needs several processes",
        "accelerate": "!needs several processes, trackers or files",
        "lightning": "!needs a trainer around it, or files",
        "pytorch_lightning": "!needs a trainer around it, or files",
        "lightning_fabric": "!needs a trainer around it, or files",
        "transformers": "!needs a trainer or a pretrained processor",
        "ignite": "!needs an engine, or several processes",
        "wandb": "!needs a run of its service",
        "mlflow": "!needs a run of its service",
        "swanlab": "!needs a run of its service",
        **dict.fromkeys("dgl monai torchdata webdataset".split(), "!loads data of its library"),
        "torch_xla": "!needs a device of XLA",
        "torchaudio": "!reads or writes a file",
        "torchvision": "!takes images or files of the host",
        "torch_geometric": "!needs a graph of the kind that it loads",
        "torch.utils.tensorboard": "!needs host data that is no tensor",
        "tensorboardX": "!needs host data that is no tensor",
    }
)
# Classes that are called as another: abstract ones, and those that inherit the methods.
STANDS_FOR: Mapping[str, str] = types.MappingProxyType(
    {
        "tensordict.TensorDictBase": "tensordict.TensorDict",
        "tensordict.LazyStackedTensorDict": "tensordict.TensorDict",
        "torch_geometric.data.HeteroData": "torch_geometric.data.Data",
        "torch_geometric.data.TemporalData": "torch_geometric.data.Data",
        "tensorboardX.SummaryWriter": "tensorboardX.writer.SummaryWriter",
        **{f"tqdm.{kind}.tqdm": "tqdm.tqdm" for kind in "notebook rich asyncio autonotebook contrib".split()},
        **{f"tqdm.{kind}.trange": "tqdm.trange" for kind in "notebook rich asyncio autonotebook std contrib".split()},
        "torchmetrics.MetricCollection": "torchmetrics.Metric",
        "ignite.metrics.metric": "ignite.metrics",
    }
)
