"""torch.profiler around a window of steps: what ran on host and device, as rows of plain numbers."""

from __future__ import annotations

import time
from typing import Any

from runtime_check.hooks import device as devices
from runtime_check.profiled import Row


class Profiler:
    """One run of torch.profiler (Kineto), with the device's activities where there is one. Raises what torch raises,
    for example RuntimeError where the program itself profiles."""

    def __init__(self) -> None:
        import torch

        kinds = torch.profiler.ProfilerActivity
        profiler: Any = torch.profiler
        real = devices.simulation() is None and torch.cuda.is_available()
        on_device = real and kinds.CUDA in profiler.supported_activities()
        self.device = on_device
        more: dict[str, Any] = {}
        if on_device:  # one event for each wait, with what it waited for (torch/csrc/profiler/orchestration/observer.h)
            more["experimental_config"] = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
        activities = [kinds.CPU, kinds.CUDA] if on_device else [kinds.CPU]
        self._profile = torch.profiler.profile(activities=activities, **more)
        self._shift = 0

    def start(self) -> None:
        """Begin; the thread that begins has to end it."""
        self._shift = time.time_ns() - time.perf_counter_ns()  # Kineto counts from 1970
        self._profile.start()

    def stop(self, path: str) -> list[Row]:
        """End, write the trace for ui.perfetto.dev to `path`, and give what was seen, by the clock of
        `time.perf_counter_ns`. Raises OSError."""
        import torch

        self._profile.stop()
        self._profile.export_chrome_trace(path)
        inner: Any = self._profile.profiler
        autograd: Any = torch.autograd
        host = autograd.DeviceType.CPU
        return [
            Row(
                one.name(),
                one.device_type() != host,
                one.start_ns() - self._shift,
                one.duration_ns(),
                one.correlation_id(),
                one.start_thread_id(),
            )
            for one in inner.kineto_results.events()
        ]
