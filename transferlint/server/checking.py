"""What is checked when: the document that was edited last, in a thread of its own, and never one text behind another.

A text that was typed over is dropped: before its check begins, or between the steps of it. Whoever asks for what is
found in a document waits for its newest text.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import functools
import gc
from collections.abc import Callable
from typing import TypeVar

from transferlint.server.documents import Document, Documents
from transferlint.server.kept import Checked, Superseded
from transferlint.server.projects import Projects

T = TypeVar("T")
_FULL = 100  # checks between two searches for garbage that go through everything


@dataclasses.dataclass(frozen=True)
class Analysis:
    """What was found in one version of a document; `checked` is None where that failed. `folder` is what the paths of
    findings are relative to, `state` how often the context had changed before, `notes` what is wrong with settings."""

    document: Document
    checked: Checked | None
    folder: str = ""
    state: int = 0
    notes: tuple[str, ...] = ()


class Checker:
    """Checks documents. `tell` hears of every analysis, `fail` of what a check raised."""

    def __init__(
        self,
        documents: Documents,
        projects: Projects,
        tell: Callable[[Analysis], None],
        fail: Callable[[Document, Exception], None],
    ) -> None:
        self._documents = documents
        self._projects = projects
        self._tell = tell
        self._fail = fail
        # One thread: what is kept of projects is changed by checks.
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "transferlint")
        self._urgent: list[str] = []  # what was edited or is asked for, the last first
        self._later: list[str] = []  # what others may matter for
        self._known: dict[str, Analysis] = {}
        self._outdated: set[str] = set()
        self._askers: dict[str, list[asyncio.Future[Analysis]]] = {}
        self._pump: asyncio.Task[None] | None = None
        self._state = 0
        self._checks = 0
        self._ended = False

    def edited(self, document: Document) -> None:
        """A document has a new text: it comes first."""
        self._want(document.uri)

    def closed(self, uri: str) -> None:
        """A document is open no more, and its file counts again for the others."""
        self._known.pop(uri, None)
        for asker in self._askers.pop(uri, ()):
            asker.cancel()
        self.context_changed()

    def context_changed(self, note: Callable[[], None] | None = None) -> None:
        """Files or settings changed: all open documents are checked again, those that wait already first. `note` tells
        what is kept of projects, in the thread of the checks."""
        if note is not None:
            self._thread.submit(note).add_done_callback(_passed_over)
        self._state += 1
        for one in self._documents.all():
            self._want_later(one.uri)

    async def analysis(self, uri: str) -> Analysis | None:
        """What is found in the newest text of a document; None for one that is not open (any more)."""
        document = self._documents.get(uri)
        if document is None:
            return None
        known = self._known.get(document.uri)
        if known is not None and self._is_new(known):
            return known
        asker: asyncio.Future[Analysis] = asyncio.get_running_loop().create_future()
        self._askers.setdefault(document.uri, []).append(asker)
        self._want(document.uri)
        return await asker

    async def work(self, task: Callable[[], T]) -> T:
        """The value of what has to do with a project, done in the thread of the checks."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, task)

    async def rest(self) -> None:
        """Wait until there is nothing more to do."""
        if self._pump is not None:
            await self._pump

    def stop(self) -> None:
        """Begin nothing any more, and end what runs between two steps of it."""
        self._state += 1
        self._ended = True
        if self._pump is not None:
            self._pump.cancel()
        for askers in self._askers.values():
            for asker in askers:
                asker.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _is_new(self, known: Analysis) -> bool:
        uri = known.document.uri
        return uri not in self._outdated and self._documents.get(uri) is known.document and known.state == self._state

    def _want(self, uri: str) -> None:
        if uri in self._urgent:
            self._urgent.remove(uri)
        self._urgent.append(uri)
        self._run()

    def _want_later(self, uri: str) -> None:
        self._outdated.add(uri)
        if uri not in self._later:
            self._later.append(uri)
        self._run()

    def _run(self) -> None:
        if self._pump is None or self._pump.done():
            self._pump = asyncio.get_running_loop().create_task(self._work_off())

    async def _work_off(self) -> None:
        while not self._ended and (self._urgent or self._later):
            urgent = bool(self._urgent)
            uri = self._urgent.pop() if urgent else self._later.pop(0)
            document, known = self._documents.get(uri), self._known.get(uri)
            if document is not None and known is not None and self._is_new(known):
                self._answer(known)
            elif document is not None and not await self._check(document, urgent):
                (self._urgent.insert if urgent else self._later.insert)(0, uri)
            self._checks += 1
            if not (self._urgent or self._later or self._ended):  # what comes meanwhile is seen by the loop
                await self.work(functools.partial(tidy, self._checks))

    async def _check(self, document: Document, urgent: bool) -> bool:
        """Check a document; False where something else came first."""
        state, before = self._state, self._known.get(document.uri)
        texts = self._documents.texts()
        self._outdated.discard(document.uri)

        def stop() -> bool:
            old = self._state != state or self._documents.get(document.uri) is not document
            return old or (not urgent and bool(self._urgent))

        def check() -> Analysis:
            checked = self._projects.check(document, texts, stop)
            folder = self._projects.folder_of(document)
            return Analysis(document, checked, folder, state, self._projects.troubles())

        try:
            made = await self.work(check)
        except Superseded:
            return False
        except Exception as error:
            self._fail(document, error)
            made = Analysis(document, None, "", state)
        if self._state != state or self._documents.get(document.uri) is not document:
            return False
        self._known[document.uri] = made
        self._answer(made)
        self._tell(made)
        if before is None or before.document.text != document.text:
            await self._reconsider(document, opened=before is None)
        return True

    async def _reconsider(self, document: Document, opened: bool) -> None:
        """The other open documents for which a changed text matters are checked again, after all that is edited; that
        of a document that was only `opened` is mostly what its file has."""
        others = [one for one in self._documents.all() if one.uri != document.uri and one.uri in self._known]
        if not others:
            return
        try:
            found = await self.work(
                lambda: [] if opened and document.is_saved() else self._projects.concerned(document, others)
            )
        except Exception as error:
            self._fail(document, error)
            return
        for one in found:
            self._want_later(one.uri)

    def _answer(self, analysis: Analysis) -> None:
        for asker in self._askers.pop(analysis.document.uri, ()):
            if not asker.done():
                asker.set_result(analysis)


def tidy(checks: int) -> None:
    """Search for garbage after so many checks, when nobody waits: what is kept is much, and gone through each time. The
    first project that was read is not gone through any more."""
    gc.collect(2 if checks == 1 or checks % _FULL == 0 else 1)
    if checks == 1:
        gc.freeze()


def _passed_over(done: concurrent.futures.Future[None]) -> None:
    """A folder that is gone now fails the next check, too, which says so."""
    if not done.cancelled():
        done.exception()
