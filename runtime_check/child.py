"""Run the program's process and stand in for it: whoever signals, waits for or kills us reaches it.

Terminal signals (an interrupt, a stop) reach the whole foreground group, the program with it, and must not be sent to
it a second time; the kernel tells one from a `kill` by `si_code` (sigaction(2)).
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence

_FORWARDED = tuple(
    getattr(signal, name)
    for name in "SIGINT SIGQUIT SIGTERM SIGHUP SIGUSR1 SIGUSR2 SIGALRM SIGCONT SIGWINCH".split()
    if hasattr(signal, name)
)
_SI_KERNEL = 0x80  # <bits/siginfo-consts.h>


def interpreter() -> list[str]:
    """This interpreter with the options it was started with: the program's gets the same."""
    words = iter(sys.orig_argv[1:])
    options: list[str] = []
    for word in words:
        if not word.startswith("-") or word in ("-m", "-c", "-"):
            break
        options.append(word)
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            options.append(next(words, ""))
    return [sys.executable, *options]


def run(command: Sequence[str]) -> int:
    """Run a command with our standard streams until it ends, forwarding signals; its code, negative for a signal."""
    blocked = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    inherited = [one for one in blocked if signal.getsignal(one) is signal.SIG_IGN]  # as under nohup
    try:
        child = subprocess.Popen(command, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before))  # noqa: PLW1509 - no thread is running
        while (code := child.poll()) is None:
            _forward(child, inherited)
        return code
    finally:
        while signal.sigpending() & blocked:
            signal.sigwait(blocked)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _forward(child: subprocess.Popen[bytes], inherited: Sequence[int]) -> None:
    """Wait for one signal, or a while, and hand it on where the program has not had it."""
    wanted = {*_FORWARDED, signal.SIGCHLD}
    if not hasattr(signal, "sigtimedwait"):  # macOS: what `kill` sends to us alone is not told from the terminal's
        number = signal.sigwait(wanted)
        if number != signal.SIGCHLD and not (number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground()):
            child.send_signal(number)
        return
    seen = signal.sigtimedwait(wanted, 1.0)
    if seen is None or seen.si_signo in (signal.SIGCHLD, *inherited):
        return
    if seen.si_code != _SI_KERNEL and seen.si_pid != child.pid:
        child.send_signal(seen.si_signo)


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def end_as(code: int) -> int:
    """The code to end with; where the program was ended by a signal, end by it too (and do not return)."""
    if code < 0:
        sys.stdout.flush()
        sys.stderr.flush()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's core, where there is one, is the one to keep
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code if code >= 0 else 128 - code
