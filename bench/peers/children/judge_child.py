"""How good records are for what people do with them, inside an environment with scikit-learn and sdmetrics.

    python judge_child.py JOB.json

A classifier is trained on the records and tested on rows that no synthesizer saw; ``sdmetrics`` compares shapes of
columns and trends of pairs.  The real rows are judged in the same way, beside.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sdmetrics.reports.single_table import QualityReport
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

REPORTED = 5_000
"""Rows that the quality report sees of either side: it takes minutes on more, and its scores are means."""


def classifier(records: np.ndarray, held: np.ndarray) -> dict[str, float]:
    """Accuracy and AUC of predicting the last column."""
    if len(np.unique(records[:, -1])) < 2:
        share = float((held[:, -1] == records[0, -1]).mean())
        return {"accuracy": share, "auc": 0.5}
    model = HistGradientBoostingClassifier(random_state=0).fit(records[:, :-1], records[:, -1])
    chances = model.predict_proba(held[:, :-1])[:, 1]
    predicted = model.classes_[(chances >= 0.5).astype(int)]
    return {
        "accuracy": float((predicted == held[:, -1]).mean()),
        "auc": float(roc_auc_score(held[:, -1], chances)),
    }


def quality(real: np.ndarray, records: np.ndarray) -> dict[str, float]:
    """The two scores of sdmetrics' report."""
    names = [f"a{k}" for k in range(real.shape[1])]
    frames = [pd.DataFrame(codes[:REPORTED].astype(str), columns=names) for codes in (real, records)]
    report = QualityReport()
    columns: dict[str, Any] = {n: {"sdtype": "categorical"} for n in names}
    report.generate(*frames, {"columns": columns}, verbose=False)
    scores = report.get_properties().set_index("Property")["Score"]
    return {"shapes": float(scores["Column Shapes"]), "trends": float(scores["Column Pair Trends"])}


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    seen, held, records = (np.load(job[part]) for part in ("codes", "held", "records"))
    order = np.random.default_rng(0).permutation(len(seen))
    found = classifier(records, held) | quality(seen[order], records)
    Path(job["judged"]).write_text(json.dumps(found))


main()
