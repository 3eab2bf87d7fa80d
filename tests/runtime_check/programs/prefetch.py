"""The next batch goes up on a stream of its own while the device works; streams wait for each other, not the host."""

import contextlib
import hashlib

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CUDA = DEVICE.type == "cuda"


class Prefetcher:
    def __init__(self, batches):
        self.batches = iter(batches)
        self.stream = torch.cuda.Stream() if CUDA else None
        self.advance()

    def advance(self):
        batch = next(self.batches, None)
        with torch.cuda.stream(self.stream) if CUDA else contextlib.nullcontext():
            if batch is not None:
                batch = batch.to(DEVICE, non_blocking=True)  # transfers: h2d 64 B x 5 async
            self.following = batch

    def __iter__(self):
        while self.following is not None:
            batch = self.following
            if CUDA:
                torch.cuda.current_stream().wait_stream(self.stream)
                batch.record_stream(torch.cuda.current_stream())
            self.advance()
            yield batch


torch.manual_seed(0)
batches = [torch.randn(4, 4) for _ in range(5)]
if CUDA:
    batches = [batch.pin_memory() for batch in batches]
state = torch.eye(4, device=DEVICE)
for batch in Prefetcher(batches):
    state = (state @ batch).tanh()
if CUDA:
    stream = torch.cuda.current_stream()
    started, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    started.record()
result = state.to("cpu", non_blocking=True)  # torch gives it pinned memory  # transfers: d2h 64 B x 1 async
if CUDA:
    ended.record()
    ended.synchronize()  # transfers: wait 0 B x 1
    assert started.elapsed_time(ended) >= 0
    stream.synchronize()  # transfers: wait 0 B x 1
    torch.cuda.synchronize()  # transfers: wait 0 B x 1
    torch.accelerator.synchronize()  # transfers: wait 0 B x 1
print(hashlib.sha256(result.numpy().tobytes()).hexdigest())
