"""What a processor is called."""

import platform

import pytest

from pseudoshot.tools import processor
from pseudoshot.tools.processor import first_core, processor_name

AMD = "processor\t: 0\ncpu family\t: {}\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nflags\t\t: fpu vme\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"


@pytest.fixture
def told(tmp_path, monkeypatch):
    def tell(text: str) -> None:
        monkeypatch.setattr(processor, "CPUINFO", tmp_path / "cpuinfo")
        (tmp_path / "cpuinfo").write_text(text)

    return tell


def test_processors_of_one_model_name_are_told_apart(told):
    told(AMD.format(25) + "\n" + AMD.format(26))
    assert processor_name() == "AMD EPYC 25 2"
    assert first_core()["flags"] == "fpu vme"
    told(AMD.format(26))
    assert processor_name() == "AMD EPYC 26 2"


def test_a_processor_without_a_model_name_has_its_numbers(told):
    told(ARM)
    assert processor_name() == "0x41 0xd40"


def test_elsewhere_python_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert first_core() == {}
    assert processor_name() == "arm64"
