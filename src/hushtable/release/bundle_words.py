"""What a bundle says of itself to whoever gets the folder: its README, and ``datapackage.json`` for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushtable.reconstruct import DERIVED, FULLY, PARTLY, reconstruction_named
from hushtable.release.benchmarked import adjusts
from hushtable.release.bundle_files import TOTALS
from hushtable.release.data_packages import DATAPACKAGE, DataPackage, FieldEntry, ResourceEntry
from hushtable.release.promise import interval_promise
from hushtable.release.reading_lines import how_to_read, parquet_lines

if TYPE_CHECKING:
    from hushtable.release.release import Release

PARQUET = "application/vnd.apache.parquet"
_ORDER = re.compile(r"tables/order-([0-9]+)\.parquet")
_README = """\
A differentially private release made by Hushtable {version}.

tables/order-K.parquet has one row per cell of every marginal of K attributes:
  attribute_1, value_1, ...   the attributes and the category of each
  estimate                    {estimate}
  std                         standard error of the unbiased estimate; empty where none is known
  lower, upper                an interval for the true count at 95%; never below zero
  measured                    fully: every number behind the cell was measured with known noise;
                              partly, derived: the estimate is a model's guess, the bounds come from measured sub-tables
  unbiased, unbiased_lower, unbiased_upper
                              the unbiased estimate with its own interval, which may reach below zero; add these up
                              where a sum must be right on average; empty where not all was measured
{adjusted}{promise}

release.json is the privacy card; measurements.parquet holds the noisy integers themselves; {package} says
what is in each file, for programs that read Frictionless data packages.
{steps}
{reading}
  hush:    hush table . {attributes}
  Python:  import hushtable; hushtable.Release.load(".").table({quoted})
"""
_STEPS = """\
The noisy integers count steps of {unit:.10g}, as the weights of the rows do; all other files are in persons.
"""
_ADJUSTED = """\
  benchmarked, benchmarked_lower, benchmarked_upper
                              the number adjusted to official figures, and an interval of its own
"""
_NUMBERS = {
    "estimate": "the published count",
    "std": "standard error of the unbiased estimate; empty where none is known",
    "lower": "lower end of an interval for the true count at 95%; never below zero",
    "upper": "upper end of that interval",
}
_UNBIASED = {
    "unbiased": "estimate that is right on average; empty where not all was measured",
    "unbiased_lower": "lower end of its own interval, which may reach below zero",
    "unbiased_upper": "upper end of that interval",
}
_BENCHMARKED = {
    "benchmarked": "the number adjusted to official figures",
    "benchmarked_lower": "lower end of its own interval, which takes the figures as they are",
    "benchmarked_upper": "upper end of that interval",
}
_OTHERS: dict[str, tuple[str, tuple[FieldEntry, ...]]] = {
    "measurements": (
        "the noisy integers that were paid for",
        (
            FieldEntry("attributes", "any", "list of integers", "numbers of the attributes, from 0"),
            FieldEntry("parameter", "string", "", "of the noise: variance or scale, an exact fraction"),
            FieldEntry(
                "values", "any", "list of integers", "noisy integers, the last attribute varying fastest"
            ),
        ),
    ),
    "history": (
        "the rounds of an adaptive release",
        (
            FieldEntry("round", "integer"),
            FieldEntry("action", "string", "", "what was asked"),
            FieldEntry("marginal", "string", "", "the table that was chosen, if one was"),
            FieldEntry("residuals", "integer", "", "how many were measured"),
            FieldEntry("sigma", "number", "", "noise, as a standard deviation"),
            FieldEntry("epsilon", "number", "", "of a private selection"),
            FieldEntry("share", "number", "", "of the budget"),
        ),
    ),
}


def readme(release: Release, files: Sequence[str], alpha: float) -> str:
    """The text of ``README.txt`` for a bundle with these files."""
    shown = next((name for name in files if _ORDER.fullmatch(name)), "measurements.parquet")
    names = release.marginals[0]
    return _README.format(
        version=release.card.versions["hushtable"],
        estimate=reconstruction_named(release.card.reconstruct).estimate,
        adjusted=_ADJUSTED if adjusts(release.schema) else "",
        promise=interval_promise(release.card, alpha),
        package=DATAPACKAGE,
        steps="" if release.schema.count_unit == 1 else _STEPS.format(unit=float(release.schema.count_unit)),
        reading="\n".join(how_to_read(parquet_lines(shown))),
        attributes=" ".join(f'"{name}"' for name in names),
        quoted=", ".join(map(repr, names)),
    )


def package_of(release: Release, files: Sequence[str]) -> DataPackage:
    """The data package of a bundle with these Parquet files."""
    about = release.schema.about
    return DataPackage(
        name="release",
        title=about.title or f"Tables of {release.card.ledger.name}",
        description=f"A differentially private release: {release.card}.",
        resources=tuple(_resource(release, name) for name in files if name.endswith(".parquet")),
        created=release.card.ledger.time,
        sources=(about.source,) if about.source else (),
        contributors=(about.contact,) if about.contact else (),
    )


def _resource(release: Release, file: str) -> ResourceEntry:
    stem = file.removesuffix(".parquet").replace("/", "-")
    match = _ORDER.fullmatch(file)
    if match:
        title = f"all tables of {match[1]} attributes"
        return ResourceEntry(stem, file, "parquet", PARQUET, title, tuple(_cells(release, int(match[1]))))
    title, fields = _OTHERS["measurements" if file.startswith(f"{TOTALS}/") else stem]
    return ResourceEntry(stem, file, "parquet", PARQUET, title, fields)


def _cells(release: Release, order: int) -> list[FieldEntry]:
    """The columns of a file of tables."""
    fields: list[FieldEntry] = []
    for k in range(1, order + 1):
        fields.append(
            FieldEntry(f"attribute_{k}", "string", "", "name of an attribute", release.schema.names)
        )
        fields.append(FieldEntry(f"value_{k}", "string", "", "its category"))
    fields += [FieldEntry(name, "number", "", meaning) for name, meaning in _NUMBERS.items()]
    words = (FULLY, PARTLY, DERIVED)
    fields.append(FieldEntry("measured", "string", "", "what was measured of the table", words))
    more = {**_UNBIASED, **(_BENCHMARKED if adjusts(release.schema) else {})}
    return fields + [FieldEntry(name, "number", "", meaning) for name, meaning in more.items()]
