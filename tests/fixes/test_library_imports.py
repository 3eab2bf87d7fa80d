"""What `benchmarks/fixes_at_scale.py --import` says of modules that can be imported, and of those that cannot."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = {
    "__init__": "",
    "__main__": "raise SystemExit('a script')",
    "first": "import json",
    "second": "from lib import first, sub",
    "sub/__init__": "from lib.sub.inner import x",
    "sub/inner": "x = 1",
    "wants": "import no_such_library_anywhere",
    "lacks": "import lib.no_such_module",
    "leaves": "import sys\nsys.exit(3)",
    "dies": "import os\nos._exit(4)",
    "waits": "import signal\nif signal.alarm(1):  # the time that is left is cut short\n    signal.pause()",
    "last": "y = 2",
    "not-a-name": "",
}


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = BENCHMARKS / "library_imports.py"
    specification = importlib.util.spec_from_file_location("library_imports", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "library_imports", module)
    specification.loader.exec_module(module)
    return module


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_each_module_is_imported_or_said_why_not(imports: ModuleType, tmp_path: Path) -> None:
    for name, text in MODULES.items():
        path = tmp_path / "lib" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    names = imports.modules(tmp_path, ["lib", "no_such_package"])
    stems = "dies first lacks last leaves second sub sub.inner waits wants".split()
    assert names == ["lib", *(f"lib.{stem}" for stem in stems)]
    assert imports.failures(tmp_path, names, seconds=600) == {
        "lib.wants": "ModuleNotFoundError: No module named 'no_such_library_anywhere'",
        "lib.lacks": "ModuleNotFoundError: No module named 'lib.no_such_module'",
        "lib.leaves": "SystemExit: 3",
        "lib.dies": "ends the process with 4",
        "lib.waits": "takes longer than 600 s",
    }
