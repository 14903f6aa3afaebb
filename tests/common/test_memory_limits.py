"""Memory that this process may use: the machine's, or less in a container or under a limit."""

import pytest

import trigpoint._common.memory as memory

GB = 2**30


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A machine with 16 GB, and the files that describe its control groups."""
    monkeypatch.setattr(memory, "_MEMBERSHIP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "resource", None)
    sizes = {"SC_PHYS_PAGES": 16 * GB // 4096, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", sizes.get, raising=False)
    (tmp_path / "groups").mkdir()
    return tmp_path


def test_without_limits(groups):
    assert memory.physical_memory.__wrapped__() == 16 * GB


def test_the_limit_of_a_parent_group(groups):
    (groups / "cgroup").write_text("0::/service/job\n")
    job = groups / "groups" / "service" / "job"
    job.mkdir(parents=True)
    (job / "memory.max").write_text("max\n")
    (job.parent / "memory.max").write_text(f"{4 * GB}\n")
    assert memory.physical_memory.__wrapped__() == 4 * GB


def test_control_groups_of_version_1(groups):
    (groups / "cgroup").write_text("5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/\n")
    # Inside the container, its group is mounted as the root.
    (groups / "groups" / "memory").mkdir()
    (groups / "groups" / "memory" / "memory.limit_in_bytes").write_text(f"{2 * GB}\n")
    assert memory.physical_memory.__wrapped__() == 2 * GB


def test_a_limit_of_the_process(groups, monkeypatch):
    """As ``ulimit -v`` sets it."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(memory, "resource", resource)
    monkeypatch.setattr(resource, "getrlimit", lambda what: (2 * GB, 4 * GB))
    assert memory.physical_memory.__wrapped__() == 2 * GB
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY,) * 2)
    assert memory.physical_memory.__wrapped__() == 16 * GB
