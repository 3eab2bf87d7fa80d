"""For Jupyter and IPython: `%load_ext transferlint`, then `%%transfers` in a cell shows what it moves."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime_check import cells, limits, naming
from runtime_check.records import SiteRecord
from runtime_check.watching import watch
from transferlint import late
from transferlint.model import Site

if TYPE_CHECKING:
    from IPython.core.error import UsageError
    from IPython.core.magic import Magics, line_cell_magic, magics_class
    from IPython.display import display

    from runtime_check import cell_checks
else:
    try:
        from IPython.core.error import UsageError
        from IPython.core.magic import Magics, line_cell_magic, magics_class
        from IPython.display import display
    except ImportError:
        raise ImportError("transferlint.runtime.jupyter needs IPython: pip install ipython") from None

_OPTION = re.compile(r"\s*--(?:(simulate|check)(?=\s|$)|limit[= ]\s*(\w+)=(\d+)(?=\s|$)|\S*)")
_NO_DEVICE = "torch finds no accelerator, so nothing is transferred: `%%transfers --simulate` counts on a simulated one"


@dataclasses.dataclass(frozen=True, slots=True)
class _Options:
    simulate: bool
    check: bool
    limits: Mapping[str, int]
    rest: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Code:
    """What is run: the name that its lines are known by, numbered as they stand in the cell, its text as plain Python,
    and its code: the statements, and the expression at the end, where there is one."""

    name: str
    text: str
    parts: tuple[Any, ...]


class TransferLimitExceeded(limits.TransferLimitExceeded):
    """Shown by its message alone: its lines are those of the cell, and not of what runs it."""

    def _render_traceback_(self) -> list[str]:
        return [f"TransferLimitExceeded: {self}"]


@magics_class
class TransferMagics(Magics):
    """The magic `transfers`."""

    @line_cell_magic
    def transfers(self, line: str, cell: str | None = None) -> Any:
        """Run a cell, or `%transfers STATEMENT` a line, and show what it moves between host and device: how often,
        how many bytes, which lines, and how long the host was blocked. All threads count.

        --simulate      start the simulated accelerator, where torch finds no other; it stays until the kernel ends, and
                        is best started before the notebook uses torch
        --limit d2h=0   fail where the cell moves or waits more often; h2d=, d2h= and sync= (waits, those of transfers
                        too), each by a `--limit` of its own
        --check         say beside the lines what `transferlint check` says of them; takes some seconds
        """
        __tracebackhide__ = True
        options = _options(line)
        if cell is not None and options.rest:
            raise UsageError(f"%%transfers {options.rest}: only --simulate, --check and --limit stand here")
        notes = _begin(options)
        if cell is None and not options.rest:
            for note in notes:
                print(note)
            return None
        code = self._compiled(_first(line), cell) if cell is not None else self._compiled("", options.rest)
        return self._run(code, options, notes)

    def _run(self, code: _Code, options: _Options, notes: list[str]) -> Any:
        """Run it and show what it moved; the value of the expression that it ends with."""
        __tracebackhide__ = True
        run, value = watch(threads="all"), None
        began = time.perf_counter()
        try:
            with run:
                for part in code.parts:
                    value = eval(part, self.shell.user_global_ns, self.shell.user_ns)
        finally:
            self._show(code, run, time.perf_counter() - began, options.check, notes)
        over = limits.exceeded(options.limits, run.totals())
        if over:
            records = [self._renamed(record, code.name) for record in run.records()]
            raise TransferLimitExceeded(limits.message("the cell transferred too often", over, run.totals(), records))
        return value

    def _show(self, code: _Code, run: watch, taken: float, check: bool, notes: list[str]) -> None:
        records, source = run.records(), run.time_source
        found: Mapping[tuple[str, int], Sequence[str]] = {}
        if check:
            from runtime_check import cell_checks, checking

            try:
                found, still = cell_checks.said(self._cells(code), records, source)
                notes = [*notes, *still]
            except (checking.CheckError, OSError) as error:
                notes = [*notes, f"not checked: {error}"]
        display(
            cells.report(
                records,
                run.totals(),
                taken,
                source,
                place=lambda path, line: self._place(path, line, code.name),
                said=lambda path, line: found.get((path, line), ()),
                notes=notes,
            )
        )

    def _compiled(self, above: str, text: str) -> _Code:
        """What is run for a cell's `text` below its first line `above` ("": there is none). Raises SyntaxError."""
        __tracebackhide__ = True
        shell: Any = self.shell
        whole, skipped = shell.transform_cell(text), "\n" * bool(above)
        name: str = shell.compile.cache(above + skipped + whole, self._number(), raw_code=above + skipped + text)
        tree = shell.transform_ast(shell.compile.ast_parse(skipped + whole, name))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        parts = [shell.compile(tree, name, "exec")]
        if last is not None:
            parts.append(shell.compile(ast.Expression(last.value), name, "eval"))
        return _Code(name, skipped + whole, tuple(parts))

    def _cells(self, code: _Code) -> list[cell_checks.Cell]:
        """The cells that ran before, as they ran last, and this."""
        from runtime_check import cell_checks

        shell: Any = self.shell
        ran: dict[str, int] = {}
        for number, raw in enumerate(shell.history_manager.input_hist_raw[: self._number()]):
            ran.pop(raw, None)
            ran[raw] = number
        found = []
        for raw, number in ran.items():
            first, _, rest = raw.partition("\n")
            if not first.startswith("%%"):
                name = shell.compile.get_code_name(raw, shell.transform_cell(raw), number)
                found.append(cell_checks.Cell(name, shell.transform_cell(raw)))
            elif first.split()[0] == "%%transfers":
                above, whole = _first(first.partition("%%transfers")[2]), shell.transform_cell(rest)
                name = shell.compile.get_code_name(f"{above}\n{rest}", f"{above}\n{whole}", number)
                found.append(cell_checks.Cell(name, f"\n{whole}"))
        return [*(one for one in found if one.name != code.name), cell_checks.Cell(code.name, code.text)]

    def _number(self) -> int:
        """The number of the cell that runs: that of the code which called the magic."""
        frame = sys._getframe(1)
        while frame.f_back is not None:
            told = self._told(frame.f_code.co_filename)
            if told is not None and (number := re.search(r"\d+", told[1])):
                return int(number[0])
            frame = frame.f_back
        return int(self.shell.execution_count)

    def _told(self, path: str) -> tuple[str, str] | None:
        """How IPython names code of a cell in a traceback, ("Cell", "In[2]"); None for other code."""
        found: tuple[str, str] | None = self.shell.compile.format_code_name(path)
        return found

    def _renamed(self, record: SiteRecord, name: str) -> SiteRecord:
        """The same with lines of cells named as such."""

        def renamed(site: Site) -> Site:
            told = ("cell",) if site.path == name else self._told(site.path)
            return site if told is None else late.replace(site, path=" ".join(told))

        user = None if record.user is None else renamed(record.user)
        return late.replace(record, site=renamed(record.site), user=user)

    def _place(self, path: str, line: int, name: str) -> str:
        if path == name:
            return f"line {line}"
        told = self._told(path)
        return f"{' '.join(told)}, line {line}" if told else f"{naming.shown(path)}:{line}"


def load(shell: Any) -> None:
    """Have a shell of IPython know the magic."""
    shell.register_magics(TransferMagics)


def _first(line: str) -> str:
    """The first line of a cell, where what follows the magic's name is `line`."""
    return f"%%transfers {line.strip()}".rstrip()


def _options(line: str) -> _Options:
    """The options that a line begins with. Raises UsageError."""
    flags, found = set(), {}
    while (match := _OPTION.match(line)) is not None:
        flag, name, number = match.groups()
        if flag:
            flags.add(flag)
        elif not name or limits.wrong({name: int(number)}):
            raise UsageError(f"%transfers {line.strip()}: --simulate, --check, or --limit d2h=0 (h2d=, d2h= or sync=)")
        else:
            found[name] = int(number)
        line = line[match.end() :]
    return _Options("simulate" in flags, "check" in flags, found, line.strip())


def _begin(options: _Options) -> list[str]:
    """What is to be said of the device, after the simulated one was started where it is wanted. Raises UsageError."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError("%transfers: torch is not installed here")
    from runtime_check import simulate
    from runtime_check.hooks import device

    if options.simulate and simulate.running() is None:
        if device.key():
            return ["torch has an accelerator here, which is counted on; --simulate does nothing"]
        try:
            simulate.start()
        except simulate.Refused as error:
            raise UsageError(f"%transfers --simulate: {error}") from None
    return [] if device.key() else [_NO_DEVICE]
