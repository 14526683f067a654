from __future__ import annotations

import pytest

from refimpl.param.flag import Flag
from refimpl.param.param import Param
from refimpl.tensor.device import Device


@pytest.mark.clause("FLG-1")
def test_a_flag_is_a_value_with_two_texts() -> None:
    assert (str(Flag(True)), str(Flag(False)), repr(Flag(True))) == ("enabled", "disabled", "Flag(true)")
    assert Flag(True).with_(False) == Flag(False)
    assert not Flag(False).is_enabled()


@pytest.mark.clause("FLG-2", "FLG-5")
def test_with_value_sets_value_and_memory() -> None:
    flag = Param.from_bool(True)
    off = flag.with_value(False)
    assert (off.id, off.is_enabled(), off.train().is_enabled()) == (flag.id, False, False)
    assert off.with_value(False) is off


@pytest.mark.clause("FLG-5")
def test_validation_switches_off_and_training_restores_the_memory() -> None:
    flag = Param.from_bool(True)
    assert not flag.valid().valid().is_enabled()
    assert flag.valid().train().is_enabled()
    assert not Param.from_bool(False).train().is_enabled()


@pytest.mark.clause("FLG-6")
def test_a_mapped_flag_keeps_its_memory() -> None:
    assert Param.from_bool(True).map(lambda f: f.with_(False)).train().is_enabled()
    assert not Param.from_bool(False).map(lambda f: f.with_(True)).valid().train().is_enabled()


@pytest.mark.clause("FLG-7")
def test_a_flag_in_validation_can_be_switched_on_at_once() -> None:
    assert Param.from_bool(False).valid().with_value(True).is_enabled()


@pytest.mark.clause("FLG-8")
def test_a_flag_has_no_device_and_no_elements() -> None:
    flag = Param.from_bool(True)
    assert flag.devices() == ()
    assert flag.num_params() == 0
    assert flag.to_device(Device("sim", 0)) is flag
    assert flag.fork(Device("sim", 0)) is flag


@pytest.mark.clause("FLG-10")
def test_a_flag_rebuilt_without_the_mapper_forgets() -> None:
    id_, value, mapper = Param.from_bool(True).valid().consume()
    assert Param.from_mapped_value(id_, value, mapper).train().is_enabled()
    assert not Param.initialized(id_, value).train().is_enabled()
