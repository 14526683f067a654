from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.errors import DeviceError, InvalidArgumentError
from refimpl.tensor.device import Device, GradientCheckpointing

SIM = Device("sim", 0)
TAGGED, BALANCED = SIM.autodiff(), SIM.autodiff().gradient_checkpointing()
ALL = [Device("cpu"), SIM, Device("sim", 7), TAGGED, BALANCED, Device("cuda", 3).autodiff()]


@pytest.mark.clause("DEV-2")
def test_equality_and_hash_ignore_the_tag_and_the_strategy() -> None:
    assert SIM == TAGGED == BALANCED
    assert len({SIM, TAGGED, BALANCED}) == 1
    assert TAGGED in [SIM]
    assert Device("sim", 1) != SIM
    assert SIM != "sim:0"


@pytest.mark.clause("DEV-3")
def test_autodiff_adds_the_tag_once_and_keeps_the_strategy() -> None:
    assert TAGGED.is_autodiff
    assert TAGGED.gradient_checkpointing_strategy() is GradientCheckpointing.DISABLED
    assert BALANCED.autodiff() is BALANCED


@pytest.mark.clause("DEV-4")
def test_inner_takes_the_tag_away() -> None:
    assert BALANCED.inner() is BALANCED.without_autodiff() is SIM.inner() is SIM
    assert SIM.gradient_checkpointing_strategy() is None


@pytest.mark.clause("DEV-5")
def test_checkpointing_needs_the_tag() -> None:
    with pytest.raises(DeviceError) as caught:
        SIM.gradient_checkpointing()

    assert str(caught.value) == (
        "Gradient checkpointing requires autodiff; use Device::autodiff().gradient_checkpointing()"
    )


@pytest.mark.clause("DEV-6")
@pytest.mark.parametrize("here", [SIM, TAGGED, BALANCED])
@pytest.mark.parametrize(
    ("there", "want"), [(SIM, ""), (TAGGED, "+autodiff"), (BALANCED, "+autodiff(balanced)")]
)
def test_a_context_is_taken_over_whole(here: Device, there: Device, want: str) -> None:
    other = Device("sim", 4).with_autodiff_context_from(here)

    assert str(other.with_autodiff_context_from(there)) == f"sim:4{want}"


@pytest.mark.parametrize("device", ALL, ids=str)
def test_the_text_of_a_device_is_read_back_as_the_same_object(device: Device) -> None:
    assert Device.parse(str(device)) is device
    assert pickle.loads(pickle.dumps(device)) is device
    assert copy.copy(device) is copy.deepcopy(device) is device


@pytest.mark.parametrize("text", ["", "gpu:0", "cpu:0", "sim", "sim:-1", "sim:0 ", "cuda:0+grad", "sim:٣"])
def test_text_that_names_no_device_is_refused(text: str) -> None:
    with pytest.raises(DeviceError, match="names no device"):
        Device.parse(text)


@given(st.text(max_size=12))
def test_any_text_is_a_device_or_an_error_of_ours(text: str) -> None:
    try:
        assert str(Device.parse(text)) == text or text.replace("0", "")
    except DeviceError as error:
        assert repr(text) in str(error)  # noqa: PT017


@pytest.mark.clause("DEV-12")
@pytest.mark.parametrize("index", [-1, 1.0, True, "0", None])
def test_an_index_is_a_natural_number(index: object) -> None:
    with pytest.raises(InvalidArgumentError, match="device index"):
        Device("sim", index)  # type: ignore[arg-type]


def test_there_is_one_host() -> None:
    with pytest.raises(InvalidArgumentError, match="there is one cpu"):
        Device("cpu", 1)
    assert Device.default() is Device("cpu")


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DeviceError, match="'tpu'") as caught:
        Device("tpu", 0)

    assert "cpu, sim, cuda" in str(caught.value.hint)
