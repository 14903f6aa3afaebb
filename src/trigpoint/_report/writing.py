"""The report of a fitted embedding, in a file or for a notebook."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trigpoint._common.checks import check_count
from trigpoint._files import PointSource, refuse_same_file
from trigpoint._sources.atomic import atomic_write
from trigpoint._report.content import NEIGHBORHOODS, SAMPLE, gather
from trigpoint._report.inline import InlinePage
from trigpoint._report.name_suggestions import suggesting_names
from trigpoint._report.page import page
from trigpoint._report.subject import Subject
from trigpoint.metrics._comparison import Comparison


@suggesting_names
def write_report(
    subject: Subject,
    path: str | os.PathLike[str] | None,
    source: PointSource | None = None,
    *,
    color: Any = None,
    images: Any = None,
    text: Any = None,
    title: str | None = None,
    sample: int = SAMPLE,
    neighborhoods: Sequence[int] | None = NEIGHBORHOODS,
    curve: bool = True,
    tried: Comparison | None = None,
    force: bool = True,
) -> Path | InlinePage:
    """Write an interactive page about a fitted embedding, in one HTML file.

    Parameters
    ----------
    subject : Subject
    path : path or None
        The file to write, usually ``.html``. It appears only when complete. ``None`` returns the
        page instead, which a notebook shows below the cell.
    source : PointSource or None, default=None
        The points to show, read and transformed block by block; if omitted, only the landmarks are
        shown.
    color : array-like of shape (n,) or (n, 1), dict or DataFrame; or None, default=None
        Numbers, dates or labels to color the points by, in addition to the columns of `X`; pass
        several in a dict or DataFrame. Integers with at most 14 distinct values count as labels; so
        do whole floats if some are missing, as in tables. Labels keep the order of a pandas
        Categorical, otherwise 2 comes before 10. With more than 14 labels, only the 13 most
        frequent have a color of their own.
    images : (int, int), (int, int, int) or array-like of shape (n,); or None, default=None
        Images to show of the point under the pointer and of a selection. Height and width, and
        channels if there are any, of the images that the rows of `X` are; as many small copies are
        kept as fit in 2 MB. Or paths or URLs of images: they are not part of the page, which loads
        them from there only when someone asks for it.
    text : array-like of shape (n,) or None, default=None
        Text of each point, shown under the pointer; points can be found by it.
    title : str or None, default=None
        Title of the page.
    sample : int, default=40000
        Number of points, drawn uniformly, that can be seen and selected individually. The density
        includes all points.
    neighborhoods : sequence of int or None, default=(10, 20, 50, 100)
        Numbers of neighbors for which to embed the landmarks, with each metric, for comparison;
        ``None`` skips it.
    curve : bool, default=True
        Whether to measure the landmark error curve, on part of the sample.
    tried : Comparison or None, default=None
        Methods that were compared before, to show beside each other.
    force : bool, default=True
        Whether to replace an existing file.

    Returns
    -------
    Path or InlinePage
        The file that was written, or the page.

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

    def text_of_page() -> str:
        content = gather(
            subject,
            source,
            color=color,
            images=images,
            text=text,
            title=title,
            sample=sample,
            neighborhoods=neighborhoods,
            curve=curve,
            tried=tried,
        )
        return page(content)

    if path is None:
        return InlinePage(text_of_page())
    target = Path(path)
    if target.exists() and not force:
        raise FileExistsError(f"{target} already exists: choose another name, or force=True")
    if source is not None:
        refuse_same_file(source, target)
    with atomic_write(target, replace=force) as partial:
        partial.write_text(text_of_page(), encoding="utf-8")
    return target
