"""Writing the report of a fitted embedding to a file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trigpoint._common.checks import check_count
from trigpoint._files import PointSource, refuse_same_file
from trigpoint._files.atomic import atomic_write
from trigpoint._report.content import NEIGHBORHOODS, SAMPLE, gather
from trigpoint._report.name_suggestions import suggesting_names
from trigpoint._report.page import page
from trigpoint._report.subject import Subject


@suggesting_names
def write_report(
    subject: Subject,
    path: str | os.PathLike[str],
    source: PointSource | None = None,
    *,
    color: Any = None,
    title: str | None = None,
    sample: int = SAMPLE,
    neighborhoods: Sequence[int] | None = NEIGHBORHOODS,
    curve: bool = True,
    force: bool = True,
) -> Path:
    """Write an interactive page about a fitted embedding, in one HTML file.

    Parameters
    ----------
    subject : Subject
    path : path
        The file to write, by custom with the ending ``.html``. It appears when it is complete.
    source : PointSource or None, default=None
        The points to show, read and transformed block by block; without them the landmarks alone
        are shown.
    color : array-like of shape (n,) or (n, 1), dict or DataFrame; or None, default=None
        Values, numbers, dates or labels, to color the points by, beside the columns of `X`;
        several by name. Whole numbers of at most 14 kinds count as labels; floating ones do if they
        are whole and some are missing, as tables make them of whole ones. Labels come in the order
        of a pandas Categorical, else with 2 before 10; of more than 14 kinds the 13 most frequent
        have a color of their own.
    title : str or None, default=None
        Title of the page.
    sample : int, default=40000
        How many points, drawn uniformly, can be selected and seen one by one. All points count in
        the density.
    neighborhoods : sequence of int or None, default=(10, 20, 50, 100)
        Numbers of neighbors for which the landmarks are embedded, with either metric, to be
        compared; ``None`` leaves that out.
    curve : bool, default=True
        Whether to measure the landmark error curve, at a part of the sample.
    force : bool, default=True
        Whether to replace a file that is there.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> emb = tp.LaplacianEigenmaps(landmarks=100, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = emb.report(f"{folder}/roll.html", X, color={"height": X[:, 1]})
    ...     written.stat().st_size < 8 * 2**20
    True
    """
    check_count("sample", sample)
    target = Path(path)
    if target.exists() and not force:
        raise FileExistsError(f"{target} is there already: choose another name, or force=True")
    if source is not None:
        refuse_same_file(source, target)
    with atomic_write(target) as partial:
        content = gather(
            subject,
            source,
            color=color,
            title=title,
            sample=sample,
            neighborhoods=neighborhoods,
            curve=curve,
        )
        partial.write_text(page(content), encoding="utf-8")
    return target
