"""What is kept of arrays in a cluster never exceeds its bound for long, and is what was used last."""

from hypothesis import given
from hypothesis import strategies as st

from mucast_engine.cluster.array_cache import ArrayCache, ArrayKey


def key(name: str, changed: int = 0) -> ArrayKey:
    return ArrayKey(name, 1, 8, changed, changed)


def test_the_array_used_longest_ago_goes_first() -> None:
    cache: ArrayCache[str] = ArrayCache(bound=20)
    cache.add(key("a"), "ref a", 10)
    cache.add(key("b"), "ref b", 10)
    assert cache.get(key("a")) == "ref a"
    cache.add(key("c"), "ref c", 10)
    assert [cache.get(key(name)) for name in "abc"] == ["ref a", None, "ref c"]
    assert (cache.held, cache.put) == (20, 30)


def test_a_file_that_was_written_anew_is_another_array() -> None:
    cache: ArrayCache[str] = ArrayCache(bound=20)
    cache.add(key("a", changed=1), "old", 10)
    assert cache.get(key("a", changed=2)) is None


def test_an_array_beyond_the_bound_is_kept_alone() -> None:
    cache: ArrayCache[str] = ArrayCache(bound=20)
    cache.add(key("a"), "ref a", 10)
    cache.add(key("large"), "ref large", 50)
    assert (cache.get(key("a")), cache.get(key("large")), cache.held) == (None, "ref large", 50)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60), st.integers(1, 40))
def test_it_is_a_list_by_last_use(steps: list[tuple[int, bool]], bound: int) -> None:
    """Against a plain list: array n has n bytes, and is added if it is not there."""
    cache: ArrayCache[int] = ArrayCache(bound)
    plain: list[int] = []
    for number, asks_only in steps:
        found = cache.get(key(str(number)))
        assert found == (number if number in plain else None)
        if found is not None:
            plain.append(plain.pop(plain.index(number)))
        elif not asks_only:
            cache.add(key(str(number)), number, number)
            plain.append(number)
            while sum(plain) > bound and len(plain) > 1:
                plain.pop(0)
        assert cache.held == sum(plain)
