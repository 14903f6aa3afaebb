"""Memory that this process may use: the machine's, or less in a container or under a limit."""

import pytest

import trigpoint._common.memory as memory

GB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GB free, whose files tests write."""
    process, groups = tmp_path / "process", tmp_path / "groups"
    process.mkdir()
    groups.mkdir()
    (tmp_path / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {8 * GB // 1024} kB\n")
    monkeypatch.setattr(memory, "_MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_PROCESS", process)
    monkeypatch.setattr(memory, "_GROUPS", groups)
    monkeypatch.setattr(memory, "resource", None)
    monkeypatch.setattr(
        memory.os, "sysconf", lambda name: 16 * GB // 4096 if "PHYS" in name else 4096
    )
    return process, groups


def test_without_limits(system):
    assert memory.physical_memory() == 16 * GB
    assert memory.available_memory() == 8 * GB


def test_a_container_of_version_2(system):
    """The limit may be on a group around the own one; copies of files give way."""
    process, groups = system
    (process / "cgroup").write_text("0::/service/job\n")
    (groups / "service" / "job").mkdir(parents=True)
    (groups / "service" / "job" / "memory.max").write_text("max\n")
    (groups / "service" / "memory.max").write_text(f"{4 * GB}\n")
    (groups / "service" / "memory.current").write_text(f"{3 * GB}\n")
    (groups / "service" / "memory.stat").write_text(f"anon 1\ninactive_file {2 * GB}\n")
    assert memory.physical_memory() == 4 * GB
    assert memory.available_memory() == 3 * GB


def test_a_container_of_version_1(system):
    process, groups = system
    (process / "cgroup").write_text("5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/\n")
    # Inside the container, its group is mounted as the root.
    (groups / "memory").mkdir()
    (groups / "memory" / "memory.limit_in_bytes").write_text(f"{2 * GB}\n")
    (groups / "memory" / "memory.usage_in_bytes").write_text(f"{GB}\n")
    (groups / "memory" / "memory.stat").write_text(f"total_inactive_file {GB // 2}\n")
    assert memory.physical_memory() == 2 * GB
    assert memory.available_memory() == 1.5 * GB


def test_a_group_that_is_full_leaves_nothing(system):
    process, groups = system
    (process / "cgroup").write_text("0::/\n")
    (groups / "memory.max").write_text(f"{GB}\n")
    (groups / "memory.current").write_text(f"{2 * GB}\n")
    assert memory.available_memory() == 0


def test_a_limit_of_the_process(system, monkeypatch):
    """As ``ulimit -v`` sets it; pages of code count too."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(memory, "resource", resource)
    monkeypatch.setattr(resource, "getrlimit", lambda what: (2 * GB, 4 * GB))
    (system[0] / "statm").write_text(f"{GB // resource.getpagesize()} 1 1 1 0 1 0\n")
    assert memory.physical_memory() == 2 * GB
    assert memory.available_memory() == GB
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY,) * 2)
    assert memory.available_memory() == 8 * GB
