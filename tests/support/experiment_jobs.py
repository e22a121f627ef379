"""Jobs for other processes, and a plan that is small enough for a test."""

from __future__ import annotations

import os

import numpy as np
from threadpoolctl import threadpool_info

from averagefair.datasets import make_synthetic
from averagefair.experiments import SOLVERS, ResultTable, Setting, trajectories
from reproduction.folder import write_results
from reproduction.plan import Scale
from reproduction.report import Report

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
    """Return the process's id, and how many threads its linear algebra may use."""
    np.linalg.inv(np.eye(50))
    threads = max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
    return {"who": ResultTable({"process": [os.getpid()], "threads": [threads]})}


def number(value, work=0):
    """Return a table with a number, after some work."""
    for _ in range(work):
        np.linalg.inv(np.eye(200))
    return {"number": ResultTable({"value": [value]})}


def fail():
    raise ValueError("this job cannot be done")


def interrupted():
    raise KeyboardInterrupt


def write_trial(folder):
    """Run a tiny experiment, and write it into a results folder."""
    paths = trajectories(make_synthetic(20, 5), [0.2], rounds=3)
    write_results(folder, {"trajectories": paths}, Report("Trial", "A trial.", []), {})
