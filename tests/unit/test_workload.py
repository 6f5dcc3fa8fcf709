"""Workloads by name, from files, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from hushtable.errors import WorkloadError
from hushtable.marginals import Workload, workload_file


@dataclass(frozen=True)
class Table:
    names: tuple[str, ...]
    sizes: tuple[int, ...]


PEOPLE = Table(("age", "sex", "income", "born"), (5, 2, 7, 3))


def code_of(call) -> str:
    with pytest.raises(WorkloadError) as caught:
        call()
    assert caught.value.message.endswith(".")
    return caught.value.code


def test_names_and_axis_numbers_resolve_to_sorted_sets_in_the_order_asked_for():
    resolved = Workload([("sex", "age"), (3,), ()], weights=[1, 0.1, "1/3"]).resolve(PEOPLE)
    assert resolved.sets == ((0, 1), (3,), ())
    assert resolved.weights == (1, Fraction(1, 10), Fraction(1, 3))
    assert resolved.sizes == PEOPLE.sizes
    assert resolved.cells == 10 + 3 + 1
    assert resolved.closure == ((), (0,), (1,), (3,), (0, 1))
    assert resolved.label((0, 1)) == "age x sex"
    assert resolved.label(()) == "the total"


@pytest.mark.parametrize("order", range(5))
def test_all_marginals_are_all_subsets_of_exactly_that_order(order):
    resolved = Workload.all_marginals(PEOPLE, order=order).resolve(PEOPLE)
    assert resolved.sets == tuple(combinations(range(4), order))
    assert set(resolved.weights) == {Fraction(1)}


@pytest.mark.parametrize("order", [-1, 5, True, 2.0, "3"])
def test_orders_that_do_not_exist_are_refused(order):
    assert code_of(lambda: Workload.all_marginals(PEOPLE, order=order)) == "workload.order"


def test_an_order_with_too_many_marginals_is_refused_before_they_are_listed():
    wide = Table(tuple(f"a{k}" for k in range(200)), (2,) * 200)
    assert code_of(lambda: Workload.all_marginals(wide, order=100)) == "workload.too-large"


def test_an_unknown_attribute_is_named_with_the_nearest_known_one():
    with pytest.raises(WorkloadError) as caught:
        Workload([("agee",)]).resolve(PEOPLE)
    assert caught.value.code == "workload.unknown-attribute"
    assert "'age'" in caught.value.fix


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: Workload([]), "workload.empty"),
        (lambda: Workload("age"), "workload.marginal"),
        (lambda: Workload(["age"]), "workload.marginal"),
        (lambda: Workload([(1.5,)]), "workload.marginal"),
        (lambda: Workload([(True,)]), "workload.marginal"),
        (lambda: Workload([("age", "age")]), "workload.duplicate-attribute"),
        (lambda: Workload([("age", 0)]).resolve(PEOPLE), "workload.duplicate-attribute"),
        (lambda: Workload([("age", "sex"), ("sex", "age")]).resolve(PEOPLE), "workload.duplicate-marginal"),
        (lambda: Workload([(4,)]).resolve(PEOPLE), "workload.unknown-attribute"),
        (lambda: Workload([(-1,)]).resolve(PEOPLE), "workload.unknown-attribute"),
        (lambda: Workload([("age",)], weights=[]), "workload.weights"),
        (lambda: Workload([("age",)], weights=[1, 2]), "workload.weights"),
    ],
)
def test_marginals_that_make_no_sense_are_refused(build, code):
    assert code_of(build) == code


@pytest.mark.parametrize(
    "weight", [0, -1, float("nan"), float("inf"), "x", None, True, "1e-400", "1e999999999", "1/0"]
)
def test_weights_must_be_positive_and_finite(weight):
    assert code_of(lambda: Workload([("age",)], weights=[weight])) == "workload.weights"


def test_numpy_weights_are_read_as_they_print():
    assert Workload([("age",)], weights=np.array([0.1])).weights == (Fraction(1, 10),)


def test_both_forms_of_file_are_read(tmp_path):
    file = tmp_path / "w.yaml"
    file.write_text("- [age, sex]\n- [income]\n- []\n")
    assert Workload.load(file).marginals == (("age", "sex"), ("income",), ())
    file.write_text("marginals:\n  - [age, 'yes']\n  - [2020]\nweights: [0.5, 1/3]\n")
    loaded = Workload.load(str(file))
    assert loaded.marginals == (("age", "yes"), ("2020",))
    assert loaded.weights == (Fraction(1, 2), Fraction(1, 3))


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("- age\n", 1, "marginal"),
        ("marginals:\n- [age]\nweight: [1]\n", 3, "fields"),
        ("marginals: [[age]]\nmarginals: [[sex]]\n", 2, "twice"),
        ("weights: [1]\n", 2, "missing"),
        ("marginals: age\n", 1, "list"),
        ("- [age]\n- [[sex]]\n", 2, "neither"),
        ("- &a [age]\n- *a\n", 1, "aliases"),
        ("- !!python/object:os.system [age]\n", 1, "tags"),
        ("- [age\n- [sex]\n", 2, "YAML"),
        ("- [age]\n---\n- [sex]\n", 2, "second"),
        ("just text\n", 1, "list"),
        ("- [age, ~x: 3]\n", 1, "neither"),
    ],
)
def test_a_file_that_is_not_a_workload_is_refused_with_its_line(tmp_path, text, line, word):
    file = tmp_path / "w.yaml"
    file.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        Workload.load(file)
    assert caught.value.code == "workload.syntax"
    assert f"line {line}" in caught.value.message
    assert word in caught.value.message


def test_empty_missing_binary_and_huge_files_have_codes_of_their_own(tmp_path, monkeypatch):
    file = tmp_path / "w.yaml"
    for text in ("", "# nothing\n", "[]\n", "marginals: []\n"):
        file.write_text(text)
        assert code_of(lambda: Workload.load(file)) == "workload.empty"
    assert code_of(lambda: Workload.load(tmp_path / "absent.yaml")) == "workload.unreadable"
    assert code_of(lambda: Workload.load(tmp_path)) == "workload.unreadable"
    file.write_bytes(b"\xff\xfe\x00")
    assert code_of(lambda: Workload.load(file)) == "workload.syntax"
    file.write_text("[" * 100_000)
    assert code_of(lambda: Workload.load(file)) == "workload.syntax"
    monkeypatch.setattr(workload_file, "MAX_BYTES", 10)
    file.write_text("- [age, sex, income]\n")
    assert code_of(lambda: Workload.load(file)) == "workload.file-too-large"
