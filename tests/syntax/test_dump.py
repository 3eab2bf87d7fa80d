"""The dump shows functions, regions, blocks and instructions."""

from __future__ import annotations

import textwrap

import libcst as cst

from transferlint.syntax.dump import dump
from transferlint.syntax.lower import lower


def test_dump():
    source = "def f(x: int = 1):\n    for y in x:\n        if y: return g(y)\n"
    assert dump(lower(cst.parse_module(source), "x.py")) == textwrap.dedent(
        """\
        module 0 <module> (in -1)
          region 0: body
          block 0 region 0 -> -
            %0 = Const value=1
            %1 = Make function=1 decorators=() defaults=(('x', 0),) bases=() keywords=()
            %2 = Store f.0 value=1

        function 1 f (in 0)
          parameter positional x.0: int = 1
          region 0: body
          region 1: for in 0 test %0 targets y.1
          region 2: then in 1 test %3 leaves return
          block 0 region 0 -> 1
            %0 = Load x.0
          block 1 region 1 -> 2, 5
            %1 = Next iterable=0 region=1
          block 2 region 1 -> 3, 4
            %2 = Store y.1 value=1
            %3 = Load y.1
            %4 = Test value=3 kind='if'
          block 3 region 2 -> -
            %5 = Outer name='g'
            %6 = Load y.1
            %7 = Call function=5 args=(6,) keywords=() stars=()
            %8 = Return value=7
          block 4 region 1 -> 1
          block 5 region 0 -> -
        """
    )
