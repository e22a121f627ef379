"""Jobs to hand to other processes, and a plan small enough for a test."""

from __future__ import annotations

import os

import numpy as np
from threadpoolctl import threadpool_info

from averagefair.datasets import make_synthetic
from averagefair.experiments import SOLVERS, Setting, Table, trajectories
from averagefair.experiments.folder import write_results
from averagefair.experiments.plan import Scale
from averagefair.experiments.story import Story

TINY = Scale(
    alphas=(0.1, 0.5),
    trajectory_alphas=(0.1,),
    rounds=12,
    splits=2,
    settings=(Setting(60, 40, "drawn", dict.fromkeys(SOLVERS, (0.1, 0.5))),),
    biases=(0.5, 1.0),
    bias_alphas=(0.1, 0.5),
    populations=2,
    people={60: 1, 120: 1},
    tasks={10: 1, 20: 1},
    new_people=100,
    new_tasks=60,
)


def who_and_how():
    """Which process this is, and how many threads its linear algebra may use."""
    np.linalg.inv(np.eye(50))
    threads = max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
    return {"who": Table({"process": [os.getpid()], "threads": [threads]})}


def number(value, work=0):
    """Return a table with a number, after some work."""
    for _ in range(work):
        np.linalg.inv(np.eye(200))
    return {"number": Table({"value": [value]})}


def fail():
    raise ValueError("this job cannot be done")


def interrupted():
    raise KeyboardInterrupt


def write_trial(folder):
    """Learn a little, and write it into a results folder."""
    paths = trajectories(make_synthetic(20, 5), [0.2], rounds=3)
    write_results(folder, {"trajectories": paths}, Story("Trial", "A trial.", []), {})
