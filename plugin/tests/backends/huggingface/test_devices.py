import subprocess

import pytest

from pytest_ocg.backends.huggingface import devices
from pytest_ocg.backends.huggingface.devices import Device, dtype_named, plan_device, visible_gpus
from pytest_ocg.errors import OptionError


@pytest.fixture
def nodes(tmp_path):
    """A device folder with four GPUs, among other files of the driver."""
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidia5", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "visible"),
    [
        (None, ("0", "1", "2", "3")),
        ("2,3", ("2", "3")),
        (" 3 , 1", ("3", "1")),
        ("", ()),
        ("-1", ()),
        ("0,-1,2", ("0",)),
        ("7", ()),
        ("GPU-8932f937,GPU-1", ("GPU-8932f937", "GPU-1")),
        ("MIG-GPU-1/2/3", ("MIG-GPU-1/2/3",)),
        ("1,1", ("1",)),
    ],
)
def test_visible_gpus_are_those_cuda_would_show(asked, visible, nodes):
    environment = {} if asked is None else {"CUDA_VISIBLE_DEVICES": asked}
    assert visible_gpus(environment, nodes=nodes) == visible


def test_a_machine_without_gpus_shows_none_for_any_variable(tmp_path):
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "0,1"}, nodes=tmp_path) == ()


@pytest.mark.parametrize(
    ("device", "dtype", "gpus", "capabilities", "planned"),
    [
        ("auto", "auto", (), (), Device("cpu", "float32", True)),
        ("auto", "auto", ("0",), (9.0,), Device("cuda", "bfloat16", True)),
        ("auto", "auto", ("0", "1"), (8.6, 7.5), Device("cuda", "float16", True)),
        ("auto", "auto", ("0",), (), Device("cuda", "bfloat16", True)),
        ("cpu", "auto", ("0",), (9.0,), Device("cpu", "float32", False)),
        ("cpu", "bfloat16", (), (), Device("cpu", "bfloat16", False)),
        ("cuda:1", "fp16", ("0", "1"), (9.0,), Device("cuda:1", "float16", False)),
        ("auto", "float32", ("0",), (9.0,), Device("cuda", "float32", True)),
    ],
)
def test_device_and_dtype_follow_the_machine(device, dtype, gpus, capabilities, planned, monkeypatch):
    monkeypatch.setattr(devices, "visible_gpus", lambda environment: gpus)
    monkeypatch.setattr(devices, "gpu_capabilities", lambda: capabilities)
    monkeypatch.setattr(devices.platform, "system", lambda: "Linux")
    assert plan_device(device, dtype) == planned


def test_apple_silicon_is_used_without_a_gpu(monkeypatch):
    monkeypatch.setattr(devices, "visible_gpus", lambda environment: ())
    monkeypatch.setattr(devices.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(devices.platform, "machine", lambda: "arm64")
    assert plan_device("auto", "auto") == Device("mps", "bfloat16", True)


@pytest.mark.parametrize(
    ("name", "dtype"), [("bf16", "bfloat16"), ("half", "float16"), ("torch.float32", "float32"), ("FP16", "float16")]
)
def test_common_names_of_number_formats_are_known(name, dtype):
    assert dtype_named(name) == dtype


@pytest.mark.parametrize(
    ("device", "dtype", "message"),
    [
        ("gpu", "auto", "device 'gpu' is not known; use auto, cpu, cuda, cuda:N or mps"),
        ("cuda:", "auto", "device 'cuda:' is not known"),
        ("cpu", "int8", "dtype 'int8' is not known; use auto, float32, float16, bfloat16"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(device, dtype, message):
    with pytest.raises(OptionError, match=message):
        plan_device(device, dtype)


@pytest.mark.parametrize(
    ("code", "output", "capabilities"),
    [(0, "9.0\n7.5\n", (9.0, 7.5)), (0, "[N/A]\n", ()), (9, "9.0\n", ()), (0, "", ())],
)
def test_capabilities_come_from_the_driver(code, output, capabilities, monkeypatch):
    monkeypatch.setattr(devices.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(
        devices.subprocess, "run", lambda *words, **named: subprocess.CompletedProcess(words, code, output, "")
    )
    assert devices.gpu_capabilities() == capabilities


def test_a_driver_that_does_not_answer_reports_no_capability(monkeypatch):
    def run(*words, **named):
        raise subprocess.TimeoutExpired("nvidia-smi", 20)

    monkeypatch.setattr(devices.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(devices.subprocess, "run", run)
    assert devices.gpu_capabilities() == ()
