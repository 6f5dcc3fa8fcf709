"""Tables and questions of ``check``: shaped like IPUMS-CPS and New York taxi trips, drawn, nobody's data.

Sizes, domains and the sixty questions follow dp-pqd, Tables 5 and 6; the dependence between attributes is invented.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hushtable.schema import Schema

CENSUS_ROWS, TAXI_ROWS = 1_340_703, 2_177_719

RACES = [
    "White",
    "Black",
    "Asian only",
    "White-Black",
    "White-American Indian",
    "White-American Indian-Asian",
]
RACES += [f"Other combination {k}" for k in range(1, 21)]
MARITAL = ["Married, spouse present", "Married, spouse absent", "Separated", "Divorced", "Widowed"]
MARITAL += ["Never married/single"]
CITIZEN = ["Born in U.S", "Born in territories", "Born abroad", "Naturalized citizen", "Not a citizen"]
SCHOOL = [
    "None",
    "Grades 1 to 4",
    "Grades 5 or 6",
    "Grades 7 or 8",
    "Grade 9",
    "Grade 10",
    "Grade 11",
    "Grade 12",
]
SCHOOL += ["High school diploma or equivalent", "Some college but no degree", "Associate's degree"]
SCHOOL += ["Bachelor's degree", "Master's degree", "Professional school degree", "Doctorate degree"]
CLASS = [
    "NIU",
    "Self-employed",
    "Wage/salary, private",
    "Federal",
    "State",
    "Local",
    "Armed forces",
    "Unpaid",
]
RELATE = ["Head", "Spouse", "Child", "Parent", "Other relative", "Nonrelative"]


def _pick(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """One index per row, with the weights of that row."""
    edges = np.cumsum(weights, axis=1)
    return (rng.random(len(edges))[:, None] * edges[:, -1:] > edges).sum(axis=1)


def _names(values: list[str], codes: np.ndarray) -> pl.Series:
    return pl.Series(codes.astype(np.uint32)).cat.to(pl.Enum(values))


def census(rows: int = CENSUS_ROWS, seed: int = 1) -> pl.DataFrame:
    """People with age and income; adults work, study, marry and earn by age."""
    rng = np.random.default_rng(seed)
    age = np.minimum(rng.gamma(3.2, 12.0, rows).astype(int), 85)
    age = np.where(age > 80, 85, age)
    sex = rng.integers(0, 2, rows)
    race = rng.choice(26, rows, p=np.r_[0.76, 0.13, 0.06, 0.012, 0.012, 0.0005, np.full(20, 0.0255 / 20)])
    adult = (age >= 16).astype(float)
    young, old = np.clip(1.6 - age / 32, 0.02, 1), np.clip((age - 55) / 60, 0.002, 1)
    marst = _pick(
        rng,
        np.stack(
            [
                1.1 * adult,
                0.03 * adult,
                0.05 * adult,
                0.25 * adult,
                old * adult * (0.6 + 0.6 * sex),
                1.7 * young,
            ],
            1,
        ),
    )
    foreign = np.where(race == 2, 0.6, 0.1)
    citizen = _pick(
        rng, np.stack([1 - foreign, 0.01 + 0 * foreign, 0.01 + 0 * foreign, foreign / 2, foreign / 2], 1)
    )
    steps = np.arange(15)
    centre = np.clip((age - 4) / 1.6, 0, 9.2)
    educ = _pick(
        rng, np.exp(-0.5 * ((steps[None] - centre[:, None]) / np.where(age < 25, 0.9, 2.6)[:, None]) ** 2)
    )
    job = adult * np.clip(1.1 - np.abs(age - 42) / 45, 0.02, 0.92)
    worked = rng.random(rows) < job
    workly = np.where(age < 15, 2, np.where(worked, 0, 1))
    classes = np.array([0, 0.1, 0.68, 0.03, 0.06, 0.08, 0.006, 0.004])
    classwkr = np.where(worked, rng.choice(8, rows, p=classes / classes.sum()), 0)
    relate = np.where(age < 19, 2, rng.choice(6, rows, p=[0.5, 0.28, 0.07, 0.03, 0.05, 0.07]))
    level = 9.6 + 0.09 * (educ - 8) - 0.25 * sex + 0.6 * worked
    income = np.where(age < 15, 0, np.minimum(rng.lognormal(level, 0.85), 500_000)).astype(int)
    return pl.DataFrame(
        {
            "relate": _names(RELATE, relate),
            "age": age,
            "sex": _names(["Male", "Female"], sex),
            "race": _names(RACES, race),
            "marst": _names(MARITAL, marst),
            "citizen": _names(CITIZEN, citizen),
            "workly": _names(["Yes", "No", "NIU"], workly),
            "classwkr": _names(CLASS, classwkr),
            "educ": _names(SCHOOL, educ),
            "inctot": income,
        }
    )


def census_schema() -> Schema:
    """Income is declared up to 2 million, as in the paper's examples; no value exceeds half a million."""
    listed = {
        "relate": RELATE,
        "sex": ["Male", "Female"],
        "race": RACES,
        "marst": MARITAL,
        "citizen": CITIZEN,
    }
    listed |= {"workly": ["Yes", "No", "NIU"], "classwkr": CLASS, "educ": SCHOOL}
    attributes = {name: {"type": "categorical", "values": values} for name, values in listed.items()}
    attributes["age"] = {"type": "integer", "bounds": [0, 85], "width": 2}
    cuts = [1, 5_000, 10_000, 20_000, 30_000, 45_000, 60_000, 80_000, 120_000, 200_000, 350_000, 500_001]
    attributes["inctot"] = {"type": "integer", "bounds": [0, 2_000_000], "cuts": cuts}
    return Schema.from_dict({"attributes": attributes})


def taxi(rows: int = TAXI_ROWS, seed: int = 2) -> pl.DataFrame:
    """Trips: the fare follows the distance, the tip the fare and how one pays."""
    rng = np.random.default_rng(seed)
    airport = rng.random(rows) < 0.03
    distance = np.where(airport, rng.normal(17, 1.5, rows), rng.lognormal(0.75, 0.75, rows))
    distance = np.clip(np.rint(distance), 1, 100).astype(int)
    rate = np.where(airport, 2, rng.choice(6, rows, p=[0.983, 0.002, 0.005, 0.003, 0.006, 0.001]) + 1)
    fare = np.clip(np.rint(np.where(airport, 52, 3.5 + 2.9 * distance + rng.exponential(3, rows))), 4, 250)
    payment = rng.choice([1, 2, 3, 4], rows, p=[0.78, 0.2, 0.01, 0.01])
    tip = np.where(payment == 1, np.clip(np.rint(fare * rng.normal(0.2, 0.08, rows)), 0, 125), 0)
    surcharge = rng.choice([0, 1, 2], rows, p=[0.09, 0.01, 0.9])
    extra = rng.integers(2, 6, rows)
    return pl.DataFrame(
        {
            "vendorID": rng.choice([1, 2], rows, p=[0.3, 0.7]),
            "passenger_count": rng.choice(np.arange(1, 7), rows, p=[0.75, 0.14, 0.04, 0.02, 0.03, 0.02]),
            "trip_distance": distance,
            "rateCodeID": rate,
            "store_and_fwd_flag": _names(["Y", "N"], (rng.random(rows) > 0.02).astype(int)),
            "payment_type": payment,
            "fare_amount": fare.astype(int),
            "tip_amount": tip.astype(int),
            "total_amount": np.clip(fare + tip + surcharge + extra, 8, 377).astype(int),
            "congestion_surcharge": surcharge,
        }
    )


def taxi_schema() -> Schema:
    """Bins are fine where trips are many; questions ask about single values all the same."""
    attributes: dict[str, dict] = {
        name: {"type": "categorical", "values": list(range(1, last + 1))}
        for name, last in (("vendorID", 2), ("rateCodeID", 6), ("payment_type", 4))
    }
    attributes["passenger_count"] = {"type": "integer", "bounds": [1, 6]}
    attributes["trip_distance"] = {"type": "integer", "bounds": [1, 100], "cuts": [*range(2, 22), 25, 30, 40]}
    attributes["store_and_fwd_flag"] = {"type": "categorical", "values": ["Y", "N"]}
    attributes["fare_amount"] = {
        "type": "integer",
        "bounds": [4, 250],
        "cuts": [*range(6, 40, 2), 50, 54, 80],
    }
    attributes["tip_amount"] = {"type": "integer", "bounds": [0, 125], "cuts": [*range(1, 14), 20, 40]}
    attributes["total_amount"] = {"type": "integer", "bounds": [8, 377], "cuts": [*range(12, 60, 4), 80, 120]}
    attributes["congestion_surcharge"] = {"type": "integer", "bounds": [0, 2]}
    return Schema.from_dict({"attributes": attributes})


def census_queries() -> list[str]:
    """q1 to q30 of Table 5."""
    counts = [
        "sex LIKE 'Female' AND race LIKE 'White-American Indian-Asian' AND workly LIKE 'Yes'",
        "race LIKE 'White-Black' AND marst LIKE 'Never married/single' AND citizen LIKE 'Naturalized citizen'",
        "sex LIKE 'Male' AND educ LIKE 'Doctorate degree' AND marst LIKE 'Separated'",
        "race LIKE 'White-American Indian' AND marst LIKE 'Widowed' AND citizen LIKE 'Born in U.S'",
        "sex LIKE 'Female' AND educ LIKE 'Grades 5 or 6' AND marst LIKE 'Never married/single'",
        "sex LIKE 'Female' AND race LIKE 'White-Black' AND workly LIKE 'Yes'",
        "sex LIKE 'Female' AND race LIKE 'Asian only' AND workly LIKE 'No'",
        "sex LIKE 'Female' AND educ LIKE 'Master''s degree' AND marst LIKE 'Married, spouse present'",
        "race LIKE 'Black' AND marst LIKE 'Married, spouse present' AND citizen LIKE 'Born in U.S'",
        "sex LIKE 'Female' AND educ LIKE 'Bachelor''s degree' AND marst LIKE 'Married, spouse present'",
        "sex LIKE 'Female' AND race LIKE 'White' AND workly LIKE 'Yes'",
        "race LIKE 'White' AND marst LIKE 'Married, spouse present' AND citizen LIKE 'Born in U.S'",
    ]
    sums = [
        "sex LIKE 'Female' AND race LIKE 'White-Black' AND workly LIKE 'No'",
        "race LIKE 'Asian only' AND marst LIKE 'Separated' AND citizen LIKE 'Born in U.S'",
        "sex LIKE 'Male' AND educ LIKE 'Professional school degree' AND marst LIKE 'Married, spouse absent'",
        "race LIKE 'White' AND marst LIKE 'Divorced' AND citizen LIKE 'Not a citizen'",
        "sex LIKE 'Female' AND educ LIKE 'Master''s degree' AND marst LIKE 'Widowed'",
        "sex LIKE 'Male' AND race LIKE 'Asian only' AND workly LIKE 'No'",
        "sex LIKE 'Male' AND race LIKE 'Black' AND workly LIKE 'No'",
        "sex LIKE 'Female' AND educ LIKE 'High school diploma or equivalent' AND marst LIKE 'Never married/single'",
        "race LIKE 'White' AND marst LIKE 'Married, spouse present' AND citizen LIKE 'Born in U.S'",
    ]
    medians = [
        "workly LIKE 'Yes' AND classwkr LIKE 'Wage/salary, private' AND educ LIKE 'Bachelor''s degree'",
        "sex LIKE 'Male' AND race LIKE 'White-Black' AND relate LIKE 'Spouse'",
        "sex LIKE 'Male' AND race LIKE 'Black' AND classwkr LIKE 'Wage/salary, private'",
        "sex LIKE 'Female' AND race LIKE 'Black' AND workly LIKE 'Yes'",
        "sex LIKE 'Female' AND educ LIKE 'Some college but no degree' AND marst LIKE 'Married, spouse absent'",
        "sex LIKE 'Male' AND citizen LIKE 'Born in U.S' AND workly LIKE 'Yes'",
        "race LIKE 'Asian only' AND marst LIKE 'Separated' AND citizen LIKE 'Born in U.S'",
        "sex LIKE 'Male' AND race LIKE 'White' AND classwkr LIKE 'Wage/salary, private'",
        "workly LIKE 'Yes' AND classwkr LIKE 'Armed forces' AND educ LIKE 'Doctorate degree'",
    ]
    return _asked(counts, sums, "inctot", medians, "age")


def taxi_queries() -> list[str]:
    """q31 to q60 of Table 6."""
    counts = [
        "passenger_count = 5 AND rateCodeID = 5 AND payment_type = 1",
        "passenger_count = 1 AND trip_distance = 1 AND tip_amount = 9",
        "trip_distance = 12 AND total_amount = 53 AND congestion_surcharge = 0",
        "trip_distance = 2 AND fare_amount = 18 AND congestion_surcharge = 2",
        "passenger_count = 2 AND trip_distance = 7 AND tip_amount = 5",
        "trip_distance = 17 AND rateCodeID = 1 AND payment_type = 1",
        "trip_distance = 5 AND payment_type = 2 AND fare_amount >= 16",
        "vendorID = 1 AND store_and_fwd_flag LIKE 'Y' AND payment_type = 1",
        "trip_distance >= 4 AND fare_amount >= 22 AND congestion_surcharge = 0",
        "trip_distance <= 4 AND rateCodeID = 1 AND payment_type = 2",
    ]
    sums = [
        "passenger_count = 1 AND trip_distance = 1 AND tip_amount = 9",
        "trip_distance = 12 AND total_amount = 53 AND congestion_surcharge = 0",
        "passenger_count = 3 AND rateCodeID = 3 AND payment_type = 2",
        "vendorID = 1 AND store_and_fwd_flag LIKE 'Y' AND payment_type = 2",
        "passenger_count < 2 AND trip_distance = 8 AND tip_amount <= 2",
        "trip_distance <= 2 AND total_amount <= 15 AND congestion_surcharge = 0",
        "trip_distance >= 8 AND payment_type = 2 AND fare_amount >= 50",
        "trip_distance <= 1 AND rateCodeID = 1 AND payment_type = 2",
        "trip_distance >= 8 AND rateCodeID = 2 AND payment_type = 1",
        "trip_distance <= 1 AND fare_amount <= 6 AND congestion_surcharge = 2",
    ]
    medians = [
        "trip_distance <= 2 AND total_amount <= 15 AND congestion_surcharge = 0",
        "trip_distance <= 1 AND rateCodeID = 1 AND payment_type = 2",
        "trip_distance <= 2 AND rateCodeID = 2 AND payment_type = 1",
        "passenger_count <= 3 AND rateCodeID = 1 AND payment_type = 1",
        "vendorID = 2 AND store_and_fwd_flag LIKE 'N' AND payment_type = 2",
        "trip_distance <= 8 AND fare_amount <= 25 AND congestion_surcharge = 2",
        "trip_distance <= 12 AND total_amount <= 34 AND congestion_surcharge = 0",
        "passenger_count < 2 AND trip_distance = 8 AND tip_amount <= 2",
        "passenger_count >= 2 AND trip_distance >= 8 AND tip_amount = 5",
        "trip_distance >= 2 AND payment_type = 2 AND fare_amount >= 50",
    ]
    return _asked(counts, sums, "total_amount", medians, "trip_distance")


def _asked(counts: list[str], sums: list[str], summed: str, medians: list[str], middle: str) -> list[str]:
    return [
        *(f"COUNT WHERE {where}" for where in counts),
        *(f"SUM({summed}) WHERE {where}" for where in sums),
        *(f"MEDIAN({middle}) WHERE {where}" for where in medians),
    ]
