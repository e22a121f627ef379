"""Rules for test files, so that tests pass on slow, busy and large machines."""

import re
from pathlib import Path

HERE = Path(__file__).parent
# Tests with absolute bounds begin by reading a clock, or the system's figures of memory.
MEASURES = re.compile(
    r"\b(perf_counter|monotonic|process_time|time\.time|thread_time|timeit"
    r"|VmHWM|VmRSS|VmData|VmPeak|ru_maxrss|memory_info|RLIMIT_AS|RLIMIT_DATA|RLIMIT_CPU)\b"
)
WHY = {
    "support/clocks.py": "puts a clock of its own in the library's place",
    "support/corruption_jobs.py": "compares with whole files, read by the same process",
    "support/structured_jobs.py": "compares with whole files, read by the same process",
    "trust/test_crash.py": "chooses moments to kill at; no test is judged by them",
    "cli/test_progress.py": "puts a clock of its own in the library's place",
    "choosing/test_early_ends.py": "puts a clock of its own in the library's place",
}
# A time-out only keeps a test from hanging, so it is minutes long.
TIMEOUT = re.compile(r"\btimeout=([\d.]+)")
LEAST = 120


def sources():
    return {
        path.relative_to(HERE).as_posix(): path.read_text("utf-8")
        for path in HERE.rglob("*.py")
        if path != Path(__file__)
    }


def measuring(texts):
    return {name for name, text in texts.items() if MEASURES.search(text)}


def short_timeouts(texts):
    return [
        f"{name}: {found[0]}"
        for name, text in texts.items()
        for found in TIMEOUT.finditer(text)
        if float(found[1]) < LEAST
    ]


def test_no_test_is_judged_by_the_clock_or_by_the_systems_memory():
    """Files that must measure are listed with a reason: a ratio to a control, or no judgement."""
    assert measuring(sources()) == {*WHY}


def test_timeouts_are_minutes():
    assert short_timeouts(sources()) == []


def test_the_rules_can_be_broken():
    texts = {
        "test_slow.py": "start = time.perf_counter()\nassert time.perf_counter() - start < 5",
        "test_large.py": "assert resource.getrusage(0).ru_maxrss < 10**6",
        "test_hangs.py": "subprocess.run(command, timeout=60)",
        "test_fine.py": "subprocess.run(command, timeout=600)  # the time",
    }
    assert measuring(texts) == {"test_slow.py", "test_large.py"}
    assert short_timeouts(texts) == ["test_hangs.py: timeout=60"]
