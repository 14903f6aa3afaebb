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


NONE = {}
OF_THE_PARENT = {
    "cgroup": "0::/service/job\n",
    "groups/service/job/memory.max": "max\n",
    "groups/service/memory.max": f"{4 * GB}\n",
}
# Inside a container, its group is mounted as the root.
OF_VERSION_1 = {
    "cgroup": "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/\n",
    "groups/memory/memory.limit_in_bytes": f"{2 * GB}\n",
}


@pytest.mark.parametrize(("files", "limit"), [(NONE, 16), (OF_THE_PARENT, 4), (OF_VERSION_1, 2)])
def test_the_limit_of_a_control_group(groups, files, limit):
    for name, content in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(content)
    assert memory.physical_memory.__wrapped__() == limit * GB


def test_a_limit_of_the_process(groups, monkeypatch):
    """As ``ulimit -v`` sets it."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(memory, "resource", resource)
    monkeypatch.setattr(resource, "getrlimit", lambda what: (2 * GB, 4 * GB))
    assert memory.physical_memory.__wrapped__() == 2 * GB
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY,) * 2)
    assert memory.physical_memory.__wrapped__() == 16 * GB
