import pytest

from mucast_engine.failure import sentence_of


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("[03:13:25] /workspace/gbm.cc:24: Unknown gbm type foo\nStack trace:\n  [bt] x", "Unknown gbm type foo"),
        (
            '[03:13:25] WARNING: /w/a.cc:782: \nParameters: { "foo" } are not used.',
            'Parameters: { "foo" } are not used.',
        ),
        ("Check failed: (max_bin) > (1) at /__w/src/io/config_auto.cpp, line 527 .\n", "Check failed: (max_bin) > (1)"),
        ("catboost/private/libs/options/x.cpp:128: Maximum tree depth is 16", "Maximum tree depth is 16"),
        ("[LightGBM] [Warning] Unknown parameter: foo", "Unknown parameter: foo"),
        ("got <object object at 0x7f949671031e>", "got <object object at >"),
        (KeyError(), "KeyError"),
    ],
)
def test_a_librarys_message_is_kept_without_places_times_and_addresses(
    said: str | BaseException, sentence: str
) -> None:
    assert sentence_of(said) == sentence
