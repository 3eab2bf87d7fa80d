"""A try-out in a forked process: where an assumption about torch's internals is wrong, the answer can be an abort, and
that must not be the user's process.

The fork has this process's state, so it also finds what only this process would find: autograd counts devices at the
first backward pass, and never again.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import time
import warnings
from collections.abc import Callable

SECONDS = 60.0
LONGEST = 300


def run(install: Callable[[], object], stamp: str = "") -> str:
    """Fork, `install` there, and use the device. The answer is what went wrong, in one line; "" if nothing did, or did
    not before: then there is the file `stamp`, which is made where it went well."""
    if stamp and os.path.exists(stamp):
        return ""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns where other threads run
        child = os.fork()
    if child == 0:
        _in_child(install, write)
    os.close(write)
    said = _listen(read, child)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        with contextlib.suppress(OSError):  # a cache that cannot be written
            _make(stamp)
        return ""
    line = next((line for line in reversed(said.splitlines()) if line.strip()), "it ended without a word")
    if code < 0:
        line = f"{signal.Signals(-code).name}: {line}"
    return line[:LONGEST]


def _make(stamp: str) -> None:
    if stamp:
        os.makedirs(os.path.dirname(stamp), mode=0o700, exist_ok=True)
        with open(stamp, "wb"):
            pass


def _listen(read: int, child: int) -> str:
    """What the child writes until it ends; it is killed when its time is over."""
    end, parts = time.monotonic() + SECONDS, []
    with os.fdopen(read, "rb", buffering=0) as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
                parts.append(b"\nit did not end in time")
                break
            part = stream.read(65536)
            if not part:
                break
            parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def _in_child(install: Callable[[], object], write: int) -> None:
    """Never returns. Standard output and error go to the parent, so that an abort's last words arrive."""
    try:
        os.dup2(write, 1)
        os.dup2(write, 2)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        install()
        exercise()
    except BaseException as error:
        text = next(iter(str(error).splitlines()), "")
        known = getattr(error, "why", "") or (text if isinstance(error, AssertionError) else "")
        with contextlib.suppress(OSError):
            os.write(write, f"\n{known or f'{type(error).__name__}: {text}'}\n".encode())
        os._exit(1)
    os._exit(0)


def exercise() -> None:
    """Use what programs use most. Raises AssertionError, or whatever torch raises."""
    from runtime_check.simulate import ordinals
    from runtime_check.simulate.internals import C, torch

    torch.set_num_threads(1)  # a pool of threads does not survive the fork
    host = torch.arange(6.0).reshape(2, 3)
    device = host.to("cuda")
    assert str(device.device) == "cuda:0", "a moved tensor is not on the device"
    assert device.data_ptr() != host.data_ptr(), "a moved tensor shares the host's memory"
    assert torch.equal((device * 2 + 1).cpu(), host * 2 + 1), "arithmetic differs"
    assert device.sum().item() == 15.0, "a scalar read differs"
    assert device[:, 1:].t()[0].tolist() == [1.0, 4.0], "views differ"
    assert device[device > 2].tolist() == [3.0, 4.0, 5.0], "indexing by a mask differs"
    assert C._accelerator_getAccelerator().type == "cuda", "C++ names no accelerator"
    _raises(TypeError, device.numpy)
    _raises(RuntimeError, lambda: device + host)
    _backward(device)
    _saved(device)
    if ordinals.count() > 1:
        _moved_on(device)


def _backward(device: object) -> None:
    from runtime_check.simulate.internals import torch

    layer = torch.nn.Linear(3, 2)
    weight = layer.weight
    layer.to("cuda")
    assert layer.weight is weight, "a moved module has other parameters"
    assert weight.is_cuda, "a moved parameter is not on the device"
    try:
        layer(device).sum().backward()
    except RuntimeError as error:
        if "device_ready_queues_" in str(error):  # engine.cpp: Engine::ready_queue
            why = "autograd has counted the devices already; start it before the first backward pass"
            raise AssertionError(why) from None
        raise
    assert weight.grad.is_cuda, "a gradient is not on the device"
    assert weight.grad.tolist() == [[3.0, 5.0, 7.0]] * 2, "gradients differ"

    def raising(gradient: object) -> None:
        raise KeyError("on purpose")

    loss = layer(device).sum()
    loss.register_hook(raising)
    _raises(KeyError, loss.backward)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, raising):
        loss = (layer(device).sin() * 2).sum()
    _raises(KeyError, loss.backward)


def _moved_on(device: object) -> None:
    """To the next device, and back by autograd, which has a thread for each."""
    from runtime_check.simulate.internals import torch

    leaf = device.detach().requires_grad_()  # type: ignore[attr-defined]
    there = leaf.to("cuda:1")
    assert str(there.device) == "cuda:1", "a tensor that was moved on is not on the second device"
    (there * 2).sum().backward()
    assert (str(leaf.grad.device), leaf.grad.sum().item()) == ("cuda:0", 12.0), "a gradient did not come back"
    with torch.cuda.device(1):
        assert str(torch.ones(1).to("cuda").device) == "cuda:1", "the second device does not become the current one"


def _saved(device: object) -> None:
    from runtime_check.simulate.internals import torch

    stream = io.BytesIO()
    torch.save(device, stream)
    for place in ("cuda", "cpu"):
        stream.seek(0)
        loaded = torch.load(stream, map_location=place)
        assert loaded.device.type == place, "a loaded tensor is elsewhere"
        assert loaded.tolist() == device.tolist(), "a loaded tensor differs"  # type: ignore[attr-defined]


def _raises(kind: type[Exception], action: Callable[[], object]) -> None:
    try:
        action()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected and did not come")
