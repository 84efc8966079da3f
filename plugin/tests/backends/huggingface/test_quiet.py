import logging
import warnings

import pytest

from pytest_ocg.backends.huggingface.runtime import silence_libraries

hub = pytest.importorskip("huggingface_hub.utils")
messages = pytest.importorskip("transformers.utils.logging")


def test_libraries_are_silent_inside_and_as_before_afterwards(caplog):
    before = (messages.get_verbosity(), messages.is_progress_bar_enabled(), hub.are_progress_bars_disabled())
    logger = logging.getLogger("transformers.generation.utils")
    with silence_libraries():
        logger.warning("do_sample is set to False, but temperature is 0.7")
        warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
        assert not messages.is_progress_bar_enabled()
        assert hub.are_progress_bars_disabled()
    assert not caplog.records
    assert (messages.get_verbosity(), messages.is_progress_bar_enabled(), hub.are_progress_bars_disabled()) == before


def test_settings_are_restored_after_an_error():
    before = (messages.get_verbosity(), messages.is_progress_bar_enabled(), hub.are_progress_bars_disabled())
    with pytest.raises(ValueError, match="broken"), silence_libraries():
        raise ValueError("broken")
    assert (messages.get_verbosity(), messages.is_progress_bar_enabled(), hub.are_progress_bars_disabled()) == before
    with pytest.warns(UserWarning, match="shown"):
        warnings.warn("shown", stacklevel=1)


def test_bars_that_were_off_stay_off():
    messages.disable_progress_bar()
    try:
        with silence_libraries():
            pass
        assert not messages.is_progress_bar_enabled()
    finally:
        messages.enable_progress_bar()


def test_a_bar_that_ignores_the_switches_is_silent_too(capsys):
    tqdm = pytest.importorskip("tqdm.auto").tqdm
    with silence_libraries():
        assert list(tqdm([1, 2, 3], desc="inside")) == [1, 2, 3]
    assert capsys.readouterr().err == ""
    assert list(tqdm([1, 2, 3], desc="outside", disable=False)) == [1, 2, 3]
    assert "outside" in capsys.readouterr().err
