"""Small mistakes: one operator, comparison, constant or call exchanged for another."""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

_SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_PAIRS = (
    "min max, minimum maximum, any all, argmin argmax, floor ceil, sin cos, exp expm1, log log1p"
)
_RENAMED = dict(pair.split() for pair in _PAIRS.split(", "))
_RENAMED |= {new: old for old, new in _RENAMED.items()}

# Messages and types say nothing about numbers.
_LEFT_ALONE = (ast.Raise, ast.Assert, ast.JoinedStr, ast.arguments, ast.Import, ast.ImportFrom)

# Nor do the log and progress bars, nor how many bytes a row of a block takes.
_CALLS_LEFT_ALONE = {"debug", "info", "report", "block_rows"}

# These switches save a copy or a check.
_SWITCHES_LEFT_ALONE = {"copy", "overwrite_a", "overwrite_b", "check_finite", "strict"}


class Edit(NamedTuple):
    """One mistake: the bytes ``start`` to ``stop`` of a file replaced.

    ``right`` and ``wrong`` are the lines of source that it is in, before and after.
    """

    file: str
    line: int
    function: str
    start: int
    stop: int
    old: str
    new: str
    right: str
    wrong: str


def edits(file: str, source: str) -> list[Edit]:
    """Every mistake that can be made in the functions of a file."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    found = []
    for function, node in _inside_functions(ast.parse(source), ""):
        for changed in _changed(node):
            new = ast.unparse(ast.fix_missing_locations(changed))
            is_statement = isinstance(node, ast.stmt)
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[node.end_lineno - 1] + node.end_col_offset
            old = source.encode()[start:stop].decode()
            new = new if is_statement else f"({new})"
            before = source.encode()[starts[node.lineno - 1] : start].decode()
            after = source.encode()[stop : starts[node.end_lineno]].decode()
            right, wrong = (" ".join(f"{before}{text}{after}".split()) for text in (old, new))
            found.append(Edit(file, node.lineno, function, start, stop, old, new, right, wrong))
    return found


def _inside_functions(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Nodes of function bodies, with the qualified name of the outermost function."""
    for name, child in ast.iter_fields(node):
        for part in child if isinstance(child, list) else [child]:
            if not isinstance(part, ast.AST) or _is_left_alone(part):
                continue
            if name in ("annotation", "returns", "decorator_list"):
                continue
            inside = function
            if isinstance(part, ast.ClassDef) and not function.endswith("()"):
                inside = f"{function}{part.name}."
            elif isinstance(part, ast.FunctionDef) and not function.endswith("()"):
                inside = f"{function}{part.name}()"
            if function.endswith("()"):
                yield function.removesuffix("()"), part
            yield from _inside_functions(part, inside)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _CALLS_LEFT_ALONE
        case ast.keyword(arg=name):
            return name in _SWITCHES_LEFT_ALONE
    return isinstance(node, _LEFT_ALONE)


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    """Copies of a node with one thing wrong."""
    new = copy.deepcopy(node)
    match new:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in _SWAPPED:
            new.op = _SWAPPED[type(op)]()
        case ast.Compare(ops=[op, *_]):
            new.ops[0] = _SWAPPED[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            new = new.operand
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value)):
            new.value = value + 1
        case ast.Constant(value=float(value)):
            new.value = 2 * value or 1.0
        case ast.Call(func=ast.Name(id="range")):
            new.args[-1] = ast.BinOp(new.args[-1], ast.Sub(), ast.Constant(1))
        case ast.Call(func=ast.Name(id=name)) if name in _RENAMED:
            new.func.id = _RENAMED[name]
        case ast.Call(func=ast.Attribute(attr=name)) if name in _RENAMED:
            new.func.attr = _RENAMED[name]
        case ast.Return(value=ast.Tuple(elts=[_, _, *_])):
            new.value.elts[:2] = new.value.elts[1::-1]
        case _:
            return
    yield new
