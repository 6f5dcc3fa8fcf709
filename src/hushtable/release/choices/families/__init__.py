"""The families of options of a choice, by name: a new one is a class in a file of its own and one call of ``register``.

What a stored choice, an option file or a list of mechanisms is made of is found here and nowhere else.
"""

# pyright: reportUnusedImport=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hushtable import linear
from hushtable.errors import SchemaError, WorkloadError
from hushtable.marginals import Workload, read_workload_text
from hushtable.plugins import Registry
from hushtable.release.choices.families.bucket_tables import BucketTables
from hushtable.release.choices.families.family import (
    AnyRelease,
    Family,
    MeasuredChoice,
    MeasuredPart,
    Refinable,
)
from hushtable.release.choices.families.marginal_tables import MarginalTables, missing_residuals
from hushtable.release.choices.families.query_matrices import ROUNDING, QueryMatrices
from hushtable.schema import Schema, document

if TYPE_CHECKING:
    from hushtable.linear import OptionMechanism

FAMILIES: Registry[Family] = Registry()
"""Every family by its name."""

MATRICES = QueryMatrices()


def register(family: Family) -> None:
    """Make a family known."""
    FAMILIES[family.name] = family


for _family in (MarginalTables(), BucketTables(), MATRICES):
    register(_family)


def family_of(option: object) -> Family:
    """The family whose option this is."""
    for family in FAMILIES.values():
        if type(option) is family.mechanism:
            return family
    raise WorkloadError(
        "linear.kind",
        "An option is not a linear mechanism.",
        "Give for example ht.linear.marginals(schema, order=1).",
    )


def shared_family(options: Iterable[OptionMechanism]) -> Family:
    """The family of all options together: their own, or matrices when they have different ones."""
    found = {family_of(option).name for option in options}
    return FAMILIES[found.pop()] if len(found) == 1 else MATRICES


def option_text(option: OptionMechanism, names: Sequence[str]) -> str:
    """An option in a few words."""
    return family_of(option).text(option, names)


def read_option(values: Mapping[str, Any], sizes: tuple[int, ...]) -> OptionMechanism:
    """The option that ``to_dict`` wrote; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else.

    ``sizes`` are those of the schema, which say what axes are levels.
    """
    known = {kind: family for family in FAMILIES.values() for kind in family.mechanism.kinds}
    return known[values["kind"]].read(values, sizes)


def options_from_files(schema: Schema, files: Iterable[str | PathLike[str]]) -> list[OptionMechanism]:
    """An option of each YAML file, with equal independent noise that is scaled to the budget later.

    A file has a workload (a list of marginals), or a mapping with the one key of a family.  Each is read once, and all
    are before the first option is made.
    """
    read = [_read(schema, Path(file).name, read_workload_text(file)) for file in files]
    return [made() for made in read]


def _read(schema: Schema, name: str, text: str) -> Callable[[], OptionMechanism]:
    """How the option of a file is made."""
    try:
        content = document.parse(text).value
    except SchemaError:  # a workload has a reader and complaints of its own
        content = None
    written = {family.key: family for family in FAMILIES.values() if family.example}
    if not isinstance(content, dict) or not written.keys() & cast("dict[str, Any]", content).keys():
        listed = Workload.loads(text, name)
        listed.resolve(schema)
        return lambda: linear.marginals(schema, sets=listed.marginals)
    (key, wanted), *more = cast("dict[str, Any]", content).items()
    made = None if more else written[key].from_file(schema, wanted)
    if made is None:
        raise WorkloadError(
            "choose.option-file",
            f"{name} is neither a workload nor {' or '.join(written)} of one table.",
            f"Write for example  {' or '.join(f.example for f in written.values())}.",
        )
    return lambda: made
