"""Two real tables as decision logs, audited: the outputs of docs/guides/real-logs.md.

1. MovieLens: 943 people rated 1,682 films over eight months (100,000 events). A person is a
   viewer, a task is a film. What is right: the viewer liked it (four or five stars). What is
   decided: a recommender shows the film, by how much *other* viewers like it.
2. A health survey (nhanes): adults and their answers to yes/no questions; not everybody is asked
   everything. A task is a question. What is decided: a guess from a few measurements, by a logistic
   regression for each question that was learned from other people.

``make bench-logs`` installs both packages and runs this; ``--docs`` writes the outputs into the
guide. Nothing of the data is stored in the repository.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from averagefair import DecisionLog
from averagefair.errors import DatasetError
from benchmarks.common import DOCS, write_section
from benchmarks.promises.tables import _health

PAGE = DOCS / "guides" / "real-logs.md"
FOLDS = 5


def films() -> tuple[Any, Any]:
    """Return the events and the people of MovieLens, with the recommender's decisions."""
    import pandas as pd

    folder = files("recbole") / "dataset_example" / "ml-100k"
    with (folder / "ml-100k.inter").open() as file:
        events = pd.read_csv(file, sep="\t", names=["viewer", "film", "stars", "time"], header=0)
    with (folder / "ml-100k.user").open() as file:
        names = ["viewer", "age", "gender", "occupation", "zip"]
        people = pd.read_csv(file, sep="\t", names=names, header=0).set_index("viewer")
    events["liked"] = (events.stars >= 4).astype(int)
    events["date"] = pd.to_datetime(events.time, unit="s").dt.date
    fold = np.random.default_rng(0).integers(0, FOLDS, people.index.max() + 1)[events.viewer]
    popular = np.empty(len(events))
    for number in range(FOLDS):
        others = events[fold != number].groupby("film").liked.agg(["sum", "size"])
        share = (others["sum"] + 10 * events.liked.mean()) / (others["size"] + 10)
        here = fold == number
        popular[here] = events.film[here].map(share).fillna(events.liked.mean())
    # As many films are shown as are liked.
    events["shown"] = (popular >= np.quantile(popular, 1.0 - events.liked.mean())).astype(int)
    columns = ["viewer", "film", "liked", "shown", "date"]
    return events[columns], people[["age", "gender", "occupation"]]


def answers() -> Any:
    """Return the events of the health survey: who, which question, the answer, the guess."""
    import pandas as pd

    features, labels = _health()
    known = ~np.isnan(features)
    filled = np.where(known, features, np.nanmedian(features, axis=0))
    X = StandardScaler().fit_transform(np.hstack([filled, ~known]))
    fold = np.random.default_rng(0).integers(0, FOLDS, len(X))
    guesses = np.full(labels.shape, np.nan)
    for number in range(FOLDS):
        for task in range(labels.shape[1]):
            learned = (fold != number) & ~np.isnan(labels[:, task])
            if len(set(labels[learned, task])) < 2:
                guesses[fold == number, task] = labels[learned, task].mean()
                continue
            model = LogisticRegression(max_iter=500).fit(X[learned], labels[learned, task])
            guesses[fold == number, task] = model.predict(X[fold == number])
    who, what = np.nonzero(~np.isnan(labels))
    return pd.DataFrame(
        {
            "person": who,
            "question": [f"question {task + 1}" for task in what],
            "answer": labels[who, what].astype(int),
            "guess": guesses[who, what].astype(int),
        }
    )


def film_texts() -> dict[str, str]:
    events, people = films()
    log = DecisionLog(person="viewer", task="film", label="liked", decision="shown", time="date")
    log.update(events, source="ml-100k")
    found = log.audit()
    return {
        "films-audit": str(found),
        "films-who": str(found.who(people.loc[found.people.name])),
        "films-groups": "\n".join(str(view) for view in log.audit(groups=people.gender).groups),
        "films-drift": str(log.drift()),
    }


def answer_texts() -> dict[str, str]:
    log = DecisionLog(person="person", task="question", label="answer", decision="guess")
    log.update(answers(), source="nhanes")
    missed = log.audit(rate="false_negative")
    return {"answers-audit": str(log.audit()), "answers-missed": str(missed)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--docs", action="store_true", help="write the outputs to the guide")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    texts: dict[str, str] = {}
    for what, make in (("MovieLens", film_texts), ("the health survey", answer_texts)):
        try:
            texts |= make()
        except (ImportError, FileNotFoundError, DatasetError) as error:
            print(f"{what} was left out: {error}. Run: make bench-logs", file=sys.stderr)
    for name, text in texts.items():
        print(f"\n== {name}\n{text}")
        if given.docs:
            write_section(PAGE, name, f"```text\n{text}\n```")


if __name__ == "__main__":
    main()
