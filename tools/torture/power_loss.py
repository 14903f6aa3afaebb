"""What a disk may hold after power was lost: all that can follow from the recorded calls.

What is sure is what was synced: the bytes of a file once the file is, a name once its folder is.
Anything else may or may not have reached the disk. Two kinds of disk are played: one that keeps
names in the order in which they were changed, like the journal of ext4 or XFS, and one that keeps
any of them, which no law forbids.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.torture.trials import Content


@dataclass(eq=False)
class Node:
    """A file, by its bytes, or a folder, by its names."""

    data: bytearray | None = None
    synced: bytes = b""
    names: dict[str, "Node"] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """Names that are changed in one step, each to a node or to nothing; and when they are sure."""

    places: tuple[tuple[Node, str, Node | None], ...]
    folder: Node


class Disk:
    """Follows the calls, as the system did while it had power.

    Parameters
    ----------
    root : Path
        The folder that was recorded.
    before : dict
        Bytes of its files at the start, by path from there; all of that is sure.
    inode : int
        Of the root.
    """

    def __init__(self, root: Path, before: dict[str, bytes], inode: int) -> None:
        self.root, self.tree = root, Node()
        self.by_inode = {inode: self.tree}
        for path, data in before.items():
            folder = self.tree
            *folders, name = path.split("/")
            for part in folders:
                folder = folder.names.setdefault(part, Node())
            folder.names[name] = Node(bytearray(data), data)
        self.changes: list[Change] = []
        self.sure: set[int] = set()
        # In order: how many changes were made before the last sync of any folder.
        self.ordered = 0
        self.start = _copied(self.tree)

    def apply(self, line: list[str], data: bytes) -> None:
        """Follow one call."""
        kind, *given = line
        if kind in "CM":
            inode, path = given
            node = self.by_inode[int(inode)] = Node(bytearray() if kind == "C" else None)
            folder, name = self._place(path)
            self._change(folder, (folder, name, node))
        elif kind == "O":
            inode, path = given
            folder, name = self._place(path)
            self.by_inode[int(inode)] = folder.names[name] if name else folder
        elif kind == "W":
            node, where = self.by_inode[int(given[0])], int(given[1])
            assert node.data is not None
            node.data.extend(bytes(max(0, where - len(node.data))))
            node.data[where : where + len(data)] = data
        elif kind == "T":
            node, length = self.by_inode[int(given[0])], int(given[1])
            assert node.data is not None
            del node.data[length:]
            node.data.extend(bytes(length - len(node.data)))
        elif kind == "S":
            self._sync(self.by_inode[int(given[0])])
        elif kind == "U":
            folder, name = self._place(given[0])
            self._change(folder, (folder, name, None))
        else:
            self._move(kind, *given)

    def _move(self, kind: str, old: str, new: str) -> None:
        (folder, name), (other, new_name) = self._place(old), self._place(new)
        moved = folder.names[name]
        steps = [(other, new_name, moved)]
        if kind == "R":
            steps.append((folder, name, None))
        elif kind == "X":
            steps.append((folder, name, other.names[new_name]))
        self._change(other, *steps)

    def _sync(self, node: Node) -> None:
        if node.data is not None:
            node.synced = bytes(node.data)
            return
        self.ordered = len(self.changes)
        self.sure |= {n for n, change in enumerate(self.changes) if change.folder is node}

    def _place(self, path: str) -> tuple[Node, str]:
        parts = Path(path).relative_to(self.root).parts
        folder = self.tree
        for part in parts[:-1]:
            folder = folder.names[part]
        return folder, parts[-1] if parts else ""

    def _change(self, folder: Node, *places: tuple[Node, str, Node | None]) -> None:
        for where, name, node in places:
            if node is None:
                where.names.pop(name, None)
            else:
                where.names[name] = node
        self.changes.append(Change(places, folder))

    def after_loss(
        self, rng: random.Random, n_random: int
    ) -> Iterator[dict[Node, dict[str, Node]]]:
        """What names there may be, if power is lost now."""
        every = range(len(self.changes))
        for last in range(self.ordered, len(self.changes) + 1):
            yield self._names(range(last))
        for _ in range(n_random):
            yield self._names([n for n in every if n in self.sure or rng.random() < 0.5])

    def _names(self, chosen: Iterator[int] | range | list[int]) -> dict[Node, dict[str, Node]]:
        names = {node: dict(entries) for node, entries in self.start.items()}
        for number in chosen:
            for folder, name, node in self.changes[number].places:
                entries = names.setdefault(folder, {})
                if node is None:
                    entries.pop(name, None)
                else:
                    entries[name] = node
        return names

    def content(self, names: dict[Node, dict[str, Node]], target: str, all_bytes: bool) -> Content:
        """What there is at a name, with only the synced bytes of files, or with all."""
        node = names.get(self.tree, {}).get(target)
        if node is None:
            return None
        return dict(self._files(node, "", names, all_bytes))

    def _files(
        self, node: Node, path: str, names: dict[Node, dict[str, Node]], all_bytes: bool
    ) -> Iterator[tuple[str, bytes]]:
        if node.data is not None:
            yield path, bytes(node.data) if all_bytes else node.synced
            return
        for name, inner in names.get(node, {}).items():
            yield from self._files(inner, f"{path}/{name}" if path else name, names, all_bytes)


def _copied(tree: Node) -> dict[Node, dict[str, Node]]:
    found = {tree: dict(tree.names)}
    for node in tree.names.values():
        if node.data is None:
            found |= _copied(node)
    return found


def recorded(log: Path) -> Iterator[tuple[list[str], bytes]]:
    """The calls in a log, with the bytes that were written."""
    with log.open("rb") as file:
        for line in file:
            parts = line.decode().rstrip("\n").split("\t")
            yield parts, file.read(int(parts[3])) if parts[0] == "W" else b""


def losses(
    log: Path,
    root: Path,
    inode: int,
    before: dict[str, bytes],
    target: str,
    old: Content,
    new: Content,
    rng: random.Random,
    n_random: int,
) -> tuple[int, set[str]]:
    """Lose power after every call; return how many disks were looked at, and what is wrong."""
    disk, n_states, wrong = Disk(root, before, inode), 0, set()
    steps = list(recorded(log))
    for number, (line, data) in enumerate(steps):
        disk.apply(line, data)
        done = number == len(steps) - 1
        for names in disk.after_loss(rng, n_random):
            for all_bytes in (False, True):
                n_states += 1
                found = disk.content(names, target, all_bytes)
                if found not in ((new,) if done else (old, new)):
                    what = "lost" if found is None else "partial"
                    wrong.add(f"{what} after call {number + 1} of {len(steps)}, {line[0]}")
    return n_states, wrong
