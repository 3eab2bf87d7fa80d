"""The blocks of a function, and the tree of what encloses what; registers and slots are those of `program.py`."""

from __future__ import annotations

from typing import Any

from transferlint import late


@late.dataclass(slots=True)
class Block:
    """A straight run of `code[start:end]`; `successors` are block indices (a `for` header: body first, then exit)."""

    start: int
    end: int
    successors: list[int]
    region: int


@late.dataclass(slots=True)
class Region:
    """One node of the tree of enclosing constructs.

    kind          what it is                                          `test`
    "body"        the function itself (region 0)                      None
    "for"         body of a for loop                                  the iterable's register
    "while"       body and test of a while loop                       the test's register (None: `while True`)
    "comprehension" one `for` clause of a comprehension               the iterable's register
    "then"        runs only where `test` is true                      the test's register
    "else"        runs only where `test` is false                     the test's register
    "handler"     body of an except clause                            the type's register or None
    "finally"     finally suite                                       None
    "try"         try suite (its `else:` suite too)                   None
    "with"        body of a with statement                            the context's register
    "case"        one case of a match                                 the subject's register
    "message"     the message of an assert (evaluated on failure)     the test's register

    Where an `if` arm always leaves (return, raise, break, continue) and it has no other arm, the statements after it in
    the same suite stand in an "else" region of that test, with `implied` True. `leaves` says how the end of this
    region is always reached: "return", "raise", "break", "continue", or "" where it can fall through.
    An elif is an "if" in the "else" region. `node` is the statement (or clause), for its span.
    `target_slots` are the slots a for loop or comprehension clause binds.
    """

    kind: str
    parent: int
    test: int | None
    node: Any
    implied: bool = False
    leaves: str = ""
    target_slots: tuple[int, ...] = ()
