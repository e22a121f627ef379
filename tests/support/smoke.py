"""Try the installed package from outside the repository.

``make dist`` runs this in an environment with the wheel and nothing else of this repository. It
needs the standard library and the package's dependencies. At the end it prints the files it wrote.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import metadata, resources
from pathlib import Path

import averagefair
from averagefair import AverageFairClassifier, audit, frontier, load
from averagefair.datasets import make_synthetic


def command(*args: str) -> str:
    """Run the installed command in this folder."""
    program = Path(sys.executable).parent / "averagefair"
    return subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Fit, audit and save; then run every command that needs no other data."""
    home = Path(averagefair.__file__).resolve()
    assert "site-packages" in home.parts, f"averagefair was taken from {home}"
    assert metadata.version("averagefair") == averagefair.__version__
    assert resources.files("averagefair").joinpath("py.typed").is_file()
    people = make_synthetic(n=60, m=12, n_holdout=30)
    model = AverageFairClassifier(alpha=0.1, random_state=0).fit(people.X, people.Y)
    assert model.certificate_.met
    assert frontier(people.X, people.Y, [0.1, 0.2], random_state=0)[1].certificate.met
    found = audit(people.Y_new_people, model.decision_probability(people.X_new), alpha=0.2)
    assert "12 tasks" in str(found)
    model.save("fair.model")
    decisions = load("fair.model").predict(people.X_new)
    assert (decisions == model.predict(people.X_new)).all()

    assert command("--version").strip().endswith(averagefair.__version__)
    command("demo", "--tables", "tables")
    table = "tables/people.csv"
    command("fit", table, "--tasks", "task_*", "--id", "person", "--alpha", "0.1", "-o", "m.model")
    command("predict", "m.model", "tables/newcomers.csv", "-o", "decisions.csv")
    judged = ("audit", "tables/newcomers.csv", "decisions.csv", "--tasks", "task_*")
    command(*judged, "--id", "person", "-o", "audit.html")
    written = sorted(path.name for path in Path().iterdir())
    print(f"averagefair {averagefair.__version__} works as installed; it wrote", *written)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
