"""Typed expressions of tensor programs that run: what makes a value of a type, from values of which types.

A tensor's type is three letters: where it is (`c` the device, `h` the host, `a` either, which the program decides as it
runs), its dtype (`f`, `i`, `b`) and its shape (`0`: none, `1`: (4,), `2`: (3, 4)). Capitals in a row stand for any
letter, the same throughout the row; `?` for a place that may differ. The others are `num` and `int` (Python's),
`bool`, `text`, `arr` (numpy, of 4 floats), `dev` (a name or object of the device), and `L:` and `D:` before a
tensor's type, a list and a dict of such.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

_VALUES = {"P": "ch", "Q": "cha", "D": "fib", "N": "fi", "S": "012", "V": "12", "A": "fib"}
_HOLE = re.compile(r"\{([\w?:]+)\}")

# A type, then the rows that make it, one a line; rows of one line are separated by " | ".
_ROWS = """
Pf0  {Pf1}.sum() | {Pf1}.mean() | {Pf2}.sum() | {Pf1}.max() | {Pf1}[{int}] | {Pf1}[1] | {Pf2}[0, 1] | {Pf1}.norm()
Pf0  {Pf1}[{Pb1}].sum() | ({Pf1} * {Pf1}).sum() | {Pf0} + {num} | {Pf0} * {Pf0} | {Pi0}.float() | {Pf0}.clone()
Pf0  {Pf1}.topk(2).values.sum() | {Pf1}.unbind()[0] | {Pf1}.max(dim=0).values | torch.dot({Pf1}, {Pf1}) | {Pf0}.sqrt().nan_to_num()
Pf1  {Pf1} + {Pf1} | {Pf1} * {Pf0} | {Pf1} - {num} | {Pf2}.sum(0) | {Pf2}[1] | {Pf2}.mean(dim=0) | torch.tanh({Pf1})
Pf1  {Pf1}.abs() | {Pf1}.clone() | {Pf1}.detach() | {Pf1}.view(-1) | {Pf1}.contiguous() | {Pf1}.clamp(min=0) | -{Pf1}
Pf1  {Pi1}.float() | {Pb1}.float() | {Pf1}.half().float() | {Pf1}.double().float() | {Pf1}.to(torch.float32) | {Pf1}.flip(0)
Pf1  torch.where({Pb1}, {Pf1}, {Pf1}) | {Pf1}.masked_fill({Pb1}, 0.0) | {Pf1} * {Pb1} | {Pf1}[{Pi1}] | {Pf1}.softmax(-1)
Pf1  {Pf1}.gather(0, {Pi1}) | {Pf1}.index_select(0, {Pi1}) | {Pf1}[[0, 2, 1, 3]] | torch.stack([{Pf0}, {Pf0}, {Pf0}, {Pf0}])
Pf1  torch.zeros_like({Pf1}) | torch.ones_like({Pf1}) | {Pf1}.new_ones(4) | {Pf1}.new_tensor([1.0, 2.0, 3.0, 4.0]) | {Pf1}.roll(1)
Pf1  torch.cat([{Pf1}[:2], {Pf1}[2:]]) | {Pf1}.sort().values | {Pf1}.cumsum(0) | torch.stack({L:Pf1}).sum(0) | sum({L:Pf1})
Pf1  {D:Pf1}["a"] | {L:Pf1}[0] | {L:Pf1}[-1] | {Pf1}[None].squeeze(0) | {Pf1}.reshape(2, 2).view(4) | {Pf1} if {bool} else {Pf1}
Pf1  torch.full_like({Pf1}, {num}) | {Pf1}.to({Pf1}.device) | torch.zeros(4, device={Pf1}.device) | {Pf1}.sigmoid() | {Pf1} / 2
Pf2  {Pf2} + {Pf1} | {Pf2} * {num} | {Pf1}.expand(3, 4) | {Pf1}.repeat(3, 1) | {Pf2}.clone() | torch.tanh({Pf2}) | {Pf2}.view(3, 4)
Pf2  torch.stack([{Pf1}, {Pf1}, {Pf1}]) | {Pf1}[None].expand(3, 4) | {Pf2}.masked_fill({Pb2}, 1.0) | {Pf2}.t().contiguous().t()
Pi0  {Pf1}.argmax() | {Pi1}.sum() | {Pb1}.sum() | {Pi1}[0] | {Pi1}.max() | torch.count_nonzero({Pf1}) | {Pf0}.clamp(-9, 9).nan_to_num().long()
Pi1  torch.arange(4).to({Pf1}.device) | {Pf1}.argsort() | {Pi1}.flip(0) | {Pi1}.clamp(0, 3) | ({Pi1} + 1) % 4 | {Pb1}.long()
Pi1  {Pf2}.argmax(0) | {Pi1}.roll({int})
Pb0  {Pb1}.any() | {Pb1}.all() | {Pf0} > 0 | ({Pf1} > 0).any() | {Pf0}.isnan() | torch.isfinite({Pf1}).all()
Pb1  {Pf1} > 0 | {Pf1} > {Pf0} | ~{Pb1} | {Pb1} & {Pb1} | {Pf1}.isnan() | {Pf1} == {Pf1} | {Pi1} > 1 | {Pf1} < {num}
Pb2  {Pf2} > 0 | {Pf2} > {Pf1} | ~{Pb2}
cAS  {?AS}.to(device) | {?AS}.cuda() | {hAS}.to(device, non_blocking=True) | {?AS}.to({cf1}.device) | {cAS} | {?AS}.to({dev})
hAS  {?AS}.cpu() | {?AS}.to("cpu") | {cAS}.cpu() | {hAS} | {?AS}.detach().cpu()
cf1  torch.ones(4, device=device) | torch.zeros(4, device={dev}) | torch.zeros(4).to(device) | torch.rand(4, device=device)
cf1  torch.tensor([1.0, -2.0, 3.0, 0.5], device=device) | torch.from_numpy({arr}).to(device) | torch.tensor({num}, dtype=torch.float32, device=device).expand(4)
cf1  torch.as_tensor({arr}, device=device) | torch.full((4,), 2.5, device=device) | torch.tensor({arr}).cuda() | torch.linspace(0, 1, 4, device=device)
cf1  torch.tensor([float({num}), 1.0, 2.0, 3.0], device=device) | torch.tensor({cf1}.tolist(), device=device) | torch.ones(4).to({cf1})
cf2  torch.rand(3, 4, device=device) | torch.zeros(3, 4).to(device) | torch.ones(3, 4).cuda()
cf0  torch.tensor({num}, dtype=torch.float32, device=device) | torch.zeros((), device=device) | torch.tensor(1.5).to(device)
ci1  torch.arange(4, device=device) | torch.tensor([0, 2, 1, 3], device=device) | torch.arange(4).to(device)
ci0  torch.tensor({int}, device=device)
cb0  torch.tensor({bool}, device=device)
cb1  torch.ones(4, dtype=torch.bool, device=device)
cb2  torch.ones(3, 4, dtype=torch.bool, device=device)
hf0  torch.tensor({num}, dtype=torch.float32) | torch.zeros(())
hf1  torch.ones(4) | torch.rand(4) | torch.from_numpy({arr}) | torch.tensor([1.0, -2.0, 3.0, 0.5]) | torch.tensor({arr}) | torch.tensor({cf1}.tolist())
hf2  torch.rand(3, 4) | torch.ones(3, 4)
hi0  torch.tensor({int})
hi1  torch.arange(4) | torch.tensor([0, 2, 1, 3])
hb0  torch.tensor({bool})
hb1  torch.ones(4, dtype=torch.bool)
hb2  torch.ones(3, 4, dtype=torch.bool)
aAS  {cAS} if {bool} else {hAS} | {cAS} | {hAS}
num  {?f0}.item() | float({?f0}) | {?N1}.tolist()[0] | {num} + 1 | {num} * 0.5 | 1.5 | 2 | {hf0}.item() | {arr}.sum() | {int}
num  {?f1}.sum().item() | sum({?N1}.tolist()) | max({num}, 1.0) | {arr}[0] | abs({num}) | {hf1}.numpy().max() | {cf1}.cpu().numpy().mean()
num  {cf1}.mean().item() | float({cf1}[0]) | round({num}, 2) | len({L:cf1}) | {num} if {bool} else 0.0 | {cf1}.cpu().sum().item()
int  1 | 2 | int({?b0}) | {?AV}.shape[0] % 4 | {?AS}.dim() | {?i0}.item() % 4 | int({?f1}.argmax()) % 4 | len({L:cf1}) % 4 | {?b1}.sum().item() % 4
int  torch.nonzero({?b1}).shape[0] % 4 | {?f1}[{?b1}].numel() % 4 | {?f1}.numel() % 4 | len({?f1}) % 4 | {?f1}.unique().numel() % 4
bool  {?f0} > 0 | {num} > 1 | {?b0}.item() | bool({?b0}) | {?f1}.sum() > 0 | {int} == 1 | not {bool} | {bool} and {bool} | {?f1}.is_cuda
bool  {?f1}.device.type == "cuda" | isinstance({?f1}, torch.Tensor) | {?f1} is not None | {?f1}.dim() == 1 | torch.equal({Pf1}, {Pf1})
bool  {?b1}.any() | torch.allclose({Pf1}, {Pf1}) | {?f1}.max() > {num} | torch.is_tensor({num}) | len({L:cf1}) > 2 | {?b1}.all().item()
arr  {hf1}.numpy() | {?f1}.cpu().numpy() | {?f1}.detach().cpu().numpy() | np.ones(4, dtype=np.float32) | {arr} * 2 | np.abs({arr}) | {arr}.copy()
arr  np.array({?f1}.tolist(), dtype=np.float32) | np.asarray({hf1}) | {?f1}.to("cpu").numpy()
dev  device | "cuda" | torch.device("cuda") | {cf1}.device
text  f"{{num}:.3f}" | f"{{?f0}}" | f"{{?f1}}" | str({?f0}) | f"{{?f1}.shape}" | "%.2f" % {num} | "{}".format({?f0}) | f"{{int}}"
L:QN1  [{QN1}, {QN1}] | [{QN1}] | [{QN1}, {QN1}, {QN1}] | list({D:QN1}.values())
L:PN1  list({Pf1}.unbind()[:0]) + [{PN1}] | [{PN1}.clone() for _ in range(3)]
D:QN1  {"a": {QN1}, "b": {QN1}} | dict(a={QN1}) | {"a": {QN1}}
D:PN1  dict(zip(("a", "b"), ({PN1}, {PN1})))
"""


def rows() -> dict[str, list[str]]:
    """For each type what makes it, with holes for other types."""
    found: dict[str, list[str]] = {}
    for line in _ROWS.strip().splitlines():
        made, _, templates = line.partition("  ")
        for template in templates.split(" | "):
            for kind, one in _instances(made, template.strip()):
                found.setdefault(kind, []).append(one)
    return found


def _instances(made: str, template: str) -> Iterator[tuple[str, str]]:
    """A row for each choice of letters for the capitals of its type; those that only its holes have are left."""
    prefix, _, letters = made.rpartition(":")
    names = [one for one in letters if one in _VALUES]
    for choice in itertools.product(*(_VALUES[name] for name in names)):
        bound = dict(zip(names, choice, strict=True))
        kind = (prefix + ":" if prefix else "") + "".join(bound.get(one, one) for one in letters)
        yield kind, _HOLE.sub(lambda hole, bound=bound: "{" + _bind(hole[1], bound) + "}", template)


def _bind(kind: str, bound: dict[str, str]) -> str:
    """A hole's type with what is bound; "L:" and "D:" are no letters."""
    prefix, colon, letters = kind.rpartition(":")
    return prefix + colon + "".join(bound.get(one, one) for one in letters)


def simplest(kind: str) -> str:
    """An expression of a type that needs no other."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind[1] == ":":
        item = simplest(kind[2:])
        return f"[{item}, {item}]" if kind[0] == "L" else f'{{"a": {item}}}'
    place, dtype, shape = kind
    given = (_SHAPES[shape], _DTYPES[dtype], "" if place == "h" else "device=device")
    return f"torch.ones({', '.join(filter(None, given))})"


_PLAIN = {
    "num": "1.5",
    "int": "2",
    "bool": "True",
    "arr": "np.ones(4, dtype=np.float32)",
    "dev": "device",
    "text": "'t'",
}
_SHAPES = {"0": "()", "1": "4", "2": "3, 4"}
_DTYPES = {"f": "", "i": "dtype=torch.long", "b": "dtype=torch.bool"}


def holes(template: str, chance: random.Random) -> list[str]:
    """The types of a template's holes, in order, with its free letters chosen."""
    chosen = {name: chance.choice(values) for name, values in _VALUES.items()}
    found = []
    for kind in _HOLE.findall(template):
        prefix, colon, letters = kind.rpartition(":")
        place = letters.replace("?", chance.choice("cccha"))
        found.append(prefix + colon + "".join(chosen.get(one, one) for one in place))
    return found


def filled(template: str, values: list[str]) -> str:
    """The template with its holes filled."""
    rest = iter(values)
    return _HOLE.sub(lambda hole: next(rest), template)
