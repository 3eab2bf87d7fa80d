"""The lattice: join is a least upper bound as far as its bounds go, and every chain of joins ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transferlint.flow.lattice import values as v
from transferlint.flow.lattice.values import Value, combine, describe, element, join
from transferlint.flow.placement.frame import State

KINDS = (
    v.TENSOR, v.MODULE, v.ARRAY, v.HOST_VALUE, v.CONTAINER, v.DEVICE_NAME, v.DTYPE, v.LOADER, v.OBJECT, v.NAME,
    v.UNKNOWN, v.OPTIMIZER,
)  # fmt: skip
PLACES = (v.HOST, v.DEVICE, v.GIVEN, v.ANYWHERE)
MUST = tuple(1 << i for i in range(20) if v.MUST >> i & 1)
MAY = tuple(1 << i for i in range(20) if v.MAY >> i & 1)


def points(items: st.SearchStrategy[Value | None]) -> st.SearchStrategy[Value]:
    registers = st.sampled_from(
        [frozenset(), frozenset({1}), frozenset({1, 2, 3}), frozenset({4, 5, 6}), frozenset({9})]
    )
    return st.builds(
        Value,
        kinds=st.integers(1, sum(KINDS)),
        places=st.integers(1, sum(PLACES)),
        flags=st.integers(0, v.MUST | v.MAY).map((v.MUST | v.MAY).__and__),
        why=st.sampled_from([(), (3,), (-2,), (5, 7)]),
        item=items,
        items=st.lists(items, max_size=2).map(_tuple),
        name=st.sampled_from(["", "torch.nn.Linear", "local:3"]),
        reads=registers,
        uploads=registers,
    )


def _tuple(items: list[Value | None]) -> tuple[Value, ...] | None:
    kept = tuple(one for one in items if one is not None)
    return kept if len(kept) == len(items) else None


VALUES = points(st.recursive(st.none(), points, max_leaves=5))


def top(value: Value) -> tuple[int, int, int, str]:
    """What both orders of a join must agree on: all but the sites that explain it."""
    return value.kinds, value.places, value.flags, value.name


def test_every_bit_has_its_own_value_and_word() -> None:
    for family in (KINDS, PLACES, MUST + MAY):
        assert len(set(family)) == len(family)
        assert all(bit & (bit - 1) == 0 for bit in family)
    assert not v.MUST & v.MAY
    assert v.ON_DEVICE == v.DEVICE | v.GIVEN
    apart = [flag for flag in MUST + MAY if not flag & v.FROM_PARAMETER] + [v.FROM_PARAMETER]  # one word for arguments
    said = [describe(Value(kind, place, flag)) for kind in KINDS for place in PLACES for flag in apart]
    assert len(set(said)) == len(said)


@given(VALUES)
def test_none_is_bottom(a: Value) -> None:
    assert join(None, a) is a
    assert join(a, None) is a
    assert join(None, None) is None


@given(VALUES)
def test_join_is_idempotent(a: Value) -> None:
    assert join(a, a) == a


@given(VALUES)
def test_join_of_equals_differs_at_most_beyond_the_depth_bound(a: Value) -> None:
    copy = rebuilt(a)
    once = join(a, copy)
    assert once is not None
    assert top(once) == top(a)
    assert join(once, copy) == once


def rebuilt(value: Value) -> Value:
    """The same value without any shared part."""
    return Value(
        value.kinds, value.places, value.flags, value.why,
        None if value.item is None else rebuilt(value.item),
        None if value.items is None else tuple(map(rebuilt, value.items)),
        value.name, value.reads, value.uploads,
    )  # fmt: skip


@given(VALUES, VALUES)
def test_join_is_an_upper_bound(a: Value, b: Value) -> None:
    both = join(a, b)
    assert both is not None
    for one in (a, b):
        assert both.kinds & one.kinds == one.kinds
        assert both.places & one.places == one.places
        assert both.flags & v.MUST & ~one.flags == 0
        assert one.flags & v.MAY & ~both.flags == 0
        assert both.name in ("", one.name)
    assert both.kinds == a.kinds | b.kinds
    assert both.places == a.places | b.places
    assert both.flags & v.MUST == a.flags & b.flags & v.MUST
    assert both.flags & v.MAY == (a.flags | b.flags) & v.MAY


@given(VALUES, VALUES)
def test_join_commutes_but_for_the_explanation(a: Value, b: Value) -> None:
    left, right = join(a, b), join(b, a)
    assert left is not None
    assert right is not None
    assert top(left) == top(right)
    assert left.reads == right.reads
    assert left.uploads == right.uploads


@given(VALUES, VALUES, VALUES)
def test_join_associates_but_for_the_explanation(a: Value, b: Value, c: Value) -> None:
    left, right = join(join(a, b), c), join(a, join(b, c))
    assert left is not None
    assert right is not None
    assert top(left) == top(right)
    assert (left.item is None) == (right.item is None)


@given(VALUES, VALUES)
def test_items_of_a_join_hold_the_items_of_both(a: Value, b: Value) -> None:
    both = join(a, b)
    assert both is not None
    unknown = any(one.kinds & v.LOADER and one.item is None for one in (a, b))  # what its batches hold
    assert not unknown or both.item is None
    for one in (a.item, b.item):
        if one is not None and not unknown:
            assert both.item is not None
            assert both.item.kinds & one.kinds == one.kinds
            assert both.item.places & one.places == one.places
    if both.items is not None:
        assert a.items is not None
        assert b.items is not None
        assert len(both.items) == len(a.items) == len(b.items)


@given(VALUES, VALUES)
def test_few_reads_and_uploads_are_all_kept(a: Value, b: Value) -> None:
    both = join(a, b)
    assert both is not None
    for kept, left, right in ((both.reads, a.reads, b.reads), (both.uploads, a.uploads, b.uploads)):
        assert kept <= left | right
        assert len(kept) <= 4
        if len(left | right) <= 4:
            assert kept == left | right


@given(VALUES, VALUES)
def test_a_join_with_the_device_is_explained(a: Value, b: Value) -> None:
    both = join(a, b)
    assert both is not None
    explained = [one.why for one in (a, b) if one.on_device and one.why]
    if explained:
        assert both.why == explained[0]


@given(st.lists(VALUES, min_size=1, max_size=40))
def test_every_chain_of_joins_ends(chain: list[Value]) -> None:
    state: Value | None = None
    for _ in range(60):
        before = state
        for one in chain:
            state = join(state, one)
        if state == before:
            break
    else:
        pytest.fail("no fixed point after 60 rounds")
    assert state is not None


@given(VALUES)
def test_a_value_that_holds_itself_grows_no_further(a: Value) -> None:
    state: Value | None = a
    for _ in range(12):
        assert state is not None
        wrapped = Value(v.CONTAINER, state.places, item=state, items=(state, a))
        grown = join(state, wrapped)
        if grown == state:
            return
        state = grown
    pytest.fail("still growing after 12 rounds")


@given(st.lists(st.none() | VALUES, min_size=3, max_size=3), st.lists(st.none() | VALUES, min_size=3, max_size=3))
def test_merging_a_state_twice_changes_nothing_more(left: list[Value | None], right: list[Value | None]) -> None:
    state = State(list(left), {f"self.a{i}": one for i, one in enumerate(left) if one is not None})
    other = State(list(right), {f"self.a{i}": one for i, one in enumerate(right) if one is not None})
    state.merge(other)
    state.merge(other)
    assert not state.merge(other)
    assert set(state.paths) <= set(other.paths)


def test_a_copied_state_is_independent() -> None:
    state = State([None, v.PYTHON], {"self.x": v.HOST_TENSOR})
    copy = state.copy()
    copy.slots[0] = v.HOST_TENSOR
    copy.paths["self.y"] = v.PYTHON
    assert state.slots == [None, v.PYTHON]
    assert set(state.paths) == {"self.x"}


@given(VALUES)
def test_but_changes_what_it_is_told(a: Value) -> None:
    assert a.but() == a
    changed = a.but(kinds=v.TENSOR, places=v.HOST, flags=0, why=(7,), name="n", reads=frozenset(), uploads=frozenset())
    assert changed.item == a.item
    assert changed.items == a.items
    assert (changed.kinds, changed.places, changed.flags, changed.why, changed.name) == (v.TENSOR, v.HOST, 0, (7,), "n")


@given(VALUES)
def test_equal_values_have_equal_hashes(a: Value) -> None:
    assert rebuilt(a) == a
    assert hash(rebuilt(a)) == hash(a)


@given(VALUES)
def test_predicates_follow_the_bits(a: Value) -> None:
    assert a.on_device == bool(a.places & (v.DEVICE | v.GIVEN))
    assert a.on_host == (a.places == v.HOST)
    assert a.may_be(v.TENSOR) == bool(a.kinds & v.TENSOR)
    assert a.is_a(v.TENSOR | v.UNKNOWN) == (a.kinds in (v.TENSOR, v.UNKNOWN, v.TENSOR | v.UNKNOWN))
    assert not a.is_a(0)


@given(VALUES)
def test_descriptions_name_kind_and_place(a: Value) -> None:
    text = describe(a)
    assert ("tensor" in text.split(" on ")[0]) == a.may_be(v.TENSOR)
    assert text in repr(a)


def test_descriptions_in_words() -> None:
    assert describe(Value(v.TENSOR, v.DEVICE | v.HOST, v.PINNED)) == "tensor on host|device [pinned]"
    assert (
        describe(Value(v.CONTAINER, v.GIVEN, item=v.HOST_TENSOR)) == "container on device-if-given of (tensor on host)"
    )


HOST_T, DEVICE_T, GIVEN_T = (Value(v.TENSOR, place) for place in (v.HOST, v.DEVICE, v.GIVEN))


@pytest.mark.parametrize(
    ("operands", "places"),
    [
        ([HOST_T, HOST_T], v.HOST),
        ([HOST_T, DEVICE_T], v.DEVICE),
        ([DEVICE_T, GIVEN_T], v.DEVICE | v.GIVEN),
        ([GIVEN_T, v.PYTHON], v.GIVEN),
        ([v.PYTHON, v.PYTHON], v.HOST),
        ([HOST_T, v.NOTHING], v.HOST | v.ANYWHERE),
        ([Value(v.DEVICE_NAME, v.DEVICE), HOST_T], v.HOST),
        ([], v.HOST),
    ],
)
def test_operands_on_the_device_decide_where_an_operation_computes(operands: list[Value], places: int) -> None:
    assert combine(operands)[0] == places


def test_an_operation_inherits_the_explanation_of_its_device_operand() -> None:
    device = Value(v.TENSOR, v.DEVICE, v.RESIDENT, (3,), reads=frozenset({1}), uploads=frozenset({3}))
    host = Value(v.TENSOR, v.HOST, v.DATA, (9,), reads=frozenset({2}))
    _, why, reads, uploads, flags = combine([host, device])
    assert why == (3,)
    assert reads == {1, 2}
    assert uploads == {3}
    assert flags == v.RESIDENT | v.DATA


@pytest.mark.parametrize(
    ("whole", "places"),
    [
        (Value(v.CONTAINER, v.HOST, item=DEVICE_T), v.DEVICE),
        (Value(v.LOADER, v.HOST), v.HOST),
        (DEVICE_T, v.DEVICE),
        (Value(v.ARRAY, v.HOST), v.HOST),
        (Value(v.UNKNOWN, v.GIVEN), v.GIVEN),
        (Value(v.MODULE, v.GIVEN), v.GIVEN),
    ],
)
def test_an_element_is_where_its_whole_is(whole: Value, places: int) -> None:
    assert element(whole).places == places


def test_a_pinned_loader_yields_pinned_batches() -> None:
    assert element(Value(v.LOADER, v.HOST, v.PINNED)).flags & v.PINNED


def test_an_element_of_a_container_of_who_knows_what_is_not_taken_for_host_data() -> None:
    found = element(Value(v.CONTAINER, v.HOST))
    assert found.kinds == v.UNKNOWN
    assert not found.on_host


def test_what_is_computed_from_constants_and_arguments_says_so() -> None:
    fresh, derived, other = (Value(v.TENSOR, v.HOST, flags) for flags in (v.FRESH, v.DERIVED, 0))
    assert v.made_of([fresh, fresh]) == v.FRESH
    assert v.made_of([fresh, derived]) == v.DERIVED
    assert v.made_of([derived, other]) == 0
    assert not derived.foreign().flags & v.DERIVED
