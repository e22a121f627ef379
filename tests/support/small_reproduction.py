"""``python -m tests.support.small_reproduction``: the reproduction, with a smaller ``--quick``.

It is the command itself; its quick look has fewer rounds, paths and biases.
"""

from dataclasses import replace

from averagefair.cli import run
from reproduction import plan
from reproduction.command import PROGRAM, make_app

if __name__ == "__main__":
    plan.QUICK = replace(
        plan.QUICK,
        rounds=6,
        trajectory_alphas=(0.1,),
        biases=(0.8, 1.0),
        bias_alphas=(0.1, 0.5),
    )
    run(make_app, " ".join(PROGRAM))
