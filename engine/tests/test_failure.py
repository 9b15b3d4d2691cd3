import pytest

from mucast_engine.failure import sentence_of


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "[03:13:25] /workspace/src/gbm/gbm.cc:24: Unknown gbm type foo\nStack trace:\n  [bt] x",
            "Unknown gbm type foo",
        ),
        (
            '[03:13:25] WARNING: /w/learner.cc:782: \nParameters: { "foo" } are not used.\n',
            'Parameters: { "foo" } are not used.',
        ),
        ("Check failed: (max_bin) > (1) at /__w/src/io/config_auto.cpp, line 527 .\n", "Check failed: (max_bin) > (1)"),
        ("catboost/private/libs/options/x.cpp:128: Maximum tree depth is 16", "Maximum tree depth is 16"),
        ("[LightGBM] [Warning] Unknown parameter: foo", "Unknown parameter: foo"),
        ("got <object object at 0x7f949671031e>", "got <object object at >"),
        ("", "str"),
    ],
)
def test_a_librarys_message_is_kept_without_places_times_and_addresses(said: str, sentence: str) -> None:
    assert sentence_of(said) == sentence


def test_an_exception_without_a_message_is_named_by_its_type() -> None:
    assert sentence_of(KeyError()) == "KeyError"
