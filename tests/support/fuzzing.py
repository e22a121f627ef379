"""Odd tables and commands, drawn at random from a seed."""

import io
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N, M = 12, 4
FEATURES, TASKS, LATER = ["x1", "x2"], [f"task_{j}" for j in range(M)], ["new_1", "new_2"]
_rng = np.random.default_rng(8)
X = _rng.normal(size=(N, len(FEATURES))).round(2)
LABELS = (_rng.random((N, M)) < 0.5).astype(int)
NEW = (_rng.random((N, len(LATER))) < 0.5).astype(int)
IDS = [f"p{i:02}" for i in range(N)]


def csv_text(names, cells, end="\n", mark=","):
    rows = [names, *([one, *map(str, row)] for one, row in zip(IDS, cells.tolist(), strict=True))]
    return end.join(mark.join(row) for row in rows) + end


TABLES = {
    "people.csv": csv_text(["person", *FEATURES, *TASKS], np.hstack([X, LABELS])),
    "labels.csv": csv_text(["person", *TASKS], LABELS),
    "decisions.csv": csv_text(["person", *TASKS], (LABELS + 0.5) / 2),
    "new_labels.csv": csv_text(["person", *LATER], NEW),
}

CELLS = [
    *("", " ", "nan", "NaN", "inf", "-inf", "1e999", "-1e999", "1e308", "5e-324", "NA", "null"),
    *("true", "FALSE", "wahr", "yes", "2020-01-01", "12:30", "1,5", "1 000", "1_000", "0x10"),
    *(
        "+1",
        " 1 ",
        "1.",
        ".5",
        "½",
        "\u0661",
        "\uff11",
        "1e5",
        "--1",
        "=1+1",
        "'1",
        '"',
        '""',
        '"a',
        'a"b',
    ),
    *(
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ufeff",
        "é",
        "\U0001d7d8",
        "a" * 70_000,
        "9" * 5000,
        "0" * 400 + "1",
    ),
    *("task_0", "person", "-", "--id", "p00", "0.5", "2", "-1", "0", "1", "1.0000001", "None"),
    *("\n", "\r", "\r\n", ",", ";", "\t", "|", "#", "\\", "\u2028", "\x85", "\x0b", "\x1c"),
]


def odd_cells(rng, text):
    lines = [line.split(",") for line in text.splitlines()]
    for _ in range(int(rng.choice([1, 1, 2, 20]))):
        row = lines[rng.integers(len(lines))]
        cell = CELLS[rng.integers(len(CELLS))]
        row[rng.integers(len(row))] = f'"{cell}"' if rng.random() < 0.3 else cell
    return "\n".join(",".join(row) for row in lines) + "\n"


def odd_column(rng, text):
    lines = [line.split(",") for line in text.splitlines()]
    place, cell = rng.integers(len(lines[0])), CELLS[rng.integers(len(CELLS))]
    for row in lines[1:]:
        row[place] = cell
    return "\n".join(",".join(row) for row in lines) + "\n"


def odd_head(rng, text):
    head, rest = text.split("\n", 1)
    names = head.split(",")
    place = rng.integers(len(names))
    new = [*CELLS, *names, names[0], "", "person ", "*", "[", "task_?", "__index_level_0__"]
    names[place] = new[rng.integers(len(new))]
    return ",".join(names) + "\n" + rest


def ragged(rng, text):
    lines = text.splitlines()
    place = rng.integers(len(lines))
    line = lines[place]
    lines[place] = [line + ",1", line.rsplit(",", 1)[0], "", ",,,,,,,,", line * 3][rng.integers(5)]
    return "\n".join(lines) + str(rng.choice(["", "\n", "\n\n\n", "\n \n"]))


def other_ends(rng, text):
    ends = ["\r\n", "\r", "\n\n", "\n\r", "\u2028", "\x0b", "\x00"]
    chosen = ends[rng.integers(len(ends))]
    return "".join(letter if letter != "\n" or rng.random() < 0.3 else chosen for letter in text)


def other_marks(rng, text):
    mark = str(rng.choice([";", "\t", "|", ":", " ", ",,", ", "]))
    said = f"sep={mark[0]}\n" if rng.random() < 0.3 else ""
    return said + text.replace(",", mark)


def fewer_rows(rng, text):
    lines = text.splitlines()
    return "\n".join(lines[: rng.integers(3)]) + "\n"


def more_rows(rng, text):
    head, rest = text.split("\n", 1)
    return text + [rest, head + "\n" + rest, rest.replace("p", "q")][rng.integers(3)]


def wide(rng, text):
    """Add ten thousand columns. They are tasks, so that no fit has that many features."""
    head, *rows = text.splitlines()
    more = ",".join(f"task_w{place}" for place in range(10_000))
    cells = ",1,0" * 5000
    return "\n".join([f"{head},{more}", *(row + cells for row in rows)]) + "\n"


def encoded(rng, text):
    kinds = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1252", "utf-7", "cp037"]
    return text.replace("p00", "pé0").encode(kinds[rng.integers(len(kinds))])


def bytes_flipped(rng, text):
    out = bytearray(text.encode())
    for _ in range(int(rng.choice([1, 3, 30]))):
        out[rng.integers(len(out))] = rng.integers(256)
    return bytes(out)


def bytes_cut(rng, text):
    return text.encode()[: rng.integers(len(text))]


def bytes_put_in(rng, text):
    data, start = text.encode(), rng.integers(len(text))
    odd = [b"\x00" * 9, b'"', b"\xff\xfe", b"\xef\xbb\xbf", b"\n" * 9, rng.bytes(9), b"PAR1"]
    return data[:start] + odd[rng.integers(len(odd))] + data[start:]


def foreign(rng, text):
    kinds = [b"", b"\n", b" ", b"PK\x03\x04" + bytes(99), b"PAR1", b"\x1f\x8b" + bytes(9)]
    kinds += [b"{}", b"\xef\xbb\xbf", b"PAR1" + bytes(50) + b"PAR1", rng.bytes(200), b"," * 99]
    return kinds[rng.integers(len(kinds))]


def _columns(rng, text):
    """Return the table's columns with the types that they would have in Parquet."""
    head, *rows = (line.split(",") for line in text.splitlines())
    columns = dict(zip(head, (list(cells) for cells in zip(*rows, strict=True)), strict=True))
    return {
        name: cells if name == "person" else [float(cell) for cell in cells]
        for name, cells in columns.items()
    }


def _odd_columns(n):
    numbers = [place % 2 for place in range(n)]
    return [
        pa.array([None] * n),
        pa.array(numbers, pa.int8()),
        pa.array(numbers, pa.uint64()),
        pa.array([bool(one) for one in numbers]),
        pa.array([str(one) for one in numbers]),
        pa.array([str(one) for one in numbers]).dictionary_encode(),
        pa.array([float(one) for one in numbers], pa.float32()),
        pa.array(np.array(numbers, np.float16)),
        pa.array([Decimal(one) for one in numbers]),
        pa.array([date(2020, 1, 1)] * n),
        pa.array([datetime(2020, 1, 1)] * n),
        pa.array([[one] for one in numbers]),
        pa.array([{"a": one} for one in numbers]),
        pa.array([b"\xff"] * n),
        pa.array([2**60 + one for one in numbers]),
        pa.array([None, *numbers[1:]]),
        pa.array([float("nan"), *map(float, numbers[1:])]),
        pa.array([float("inf"), *map(float, numbers[1:])]),
        pa.array([10**9] * n, pa.duration("s")),
        pa.array([10**18] * n, pa.timestamp("ns")),
        pa.array(["a" * 50_000] * n, pa.large_string()),
    ]


def parquet(rng, text):
    columns = _columns(rng, text)
    names, arrays = [*columns], [pa.array(cells) for cells in columns.values()]
    odd = _odd_columns(len(arrays[0]))
    for _ in range(int(rng.integers(0, 3))):
        arrays[rng.integers(len(arrays))] = odd[rng.integers(len(odd))]
    if rng.random() < 0.2:
        names[rng.integers(len(names))] = str(
            rng.choice([*names, "", " ", "a.b", "__index_level_0__"])
        )
    table = pa.table(arrays, names)
    if rng.random() < 0.1:
        table = [table.slice(0, 0), table.select([]), table.slice(0, 1)][rng.integers(3)]
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=int(rng.choice([1, 5, 1000])))
    data = bytearray(sink.getvalue())
    if rng.random() < 0.4:
        for _ in range(int(rng.choice([1, 3, 30]))):
            data[rng.integers(len(data))] = rng.integers(256)
    if rng.random() < 0.1:
        del data[rng.integers(len(data)) :]
    return bytes(data)


def untouched(rng, text):
    return text


WAYS = [
    *(odd_cells, odd_cells, odd_column, odd_head, odd_head, ragged, other_ends, other_marks),
    *(fewer_rows, more_rows, wide, encoded, bytes_flipped, bytes_cut, bytes_put_in, foreign),
    *(parquet, parquet, parquet, untouched, untouched),
]


def table(rng, name, ways=WAYS):
    """Return the bytes of a damaged table."""
    way = ways[rng.integers(len(ways))]
    made = way(rng, TABLES[name])
    return made.encode("utf-8", "surrogatepass") if isinstance(made, str) else made


WORDS = [
    *("", " ", "-", "--", "-1", "0", "1", "2", "0.5", "1e999", "nan", "inf", "-inf", "1e-400"),
    *("99999999999999999999", "0.1,0.2", "0.1:0.2:0.05", "0:1:0", "a:b:c", ":::", "0.1:0.2:1e-9"),
    *("task_*", "*", "[", "[!", "x*", "person", "nobody", "task_0", "x1", "é", "\udcff", "💥"),
    *("error", "false-positive", "false_positive", "true", "regression", "stump", "polished"),
    *(
        "columns",
        "published",
        "splines",
        "kernel",
        "none",
        "people.csv",
        "labels.csv",
        "fair.model",
    ),
    *("missing.csv", ".", "..", "/", "/dev/null", "/dev/null/x", "nowhere/out.csv", "out.html"),
    *("out.csv", "out.parquet", "out.model", "out.txt", "a" * 300, "~", "$HOME", "%s", "\x1b[31m"),
    *("--help", "--json", "--quiet", "-h", "--version", "0x10", "1_0", "1,5", "+1", "\u0661"),
]
OPTIONS = {
    "fit": "--labels --features --ignore --id --alpha --rate --beta --max-influence --oracle --l2 "
    "--map --solver --max-rounds --seed --time-limit",
    "frontier": "--test --new-tasks --choice --labels --test-labels --features --ignore --id "
    "--rate --beta --max-influence --oracle --l2 --map --max-rounds --seed --table --model "
    "--title --alphas --time-limit",
    "predict": "--id --trust",
    "extend": "--tasks --id --trust",
    "export": "--trust",
    "audit": "--id --tasks --ignore --rate --groups --group-columns --alpha --beta --confidence "
    "--fail-above --fail-on --people --title --seed -o --features --features-ignore --log "
    "--person --task --positive",
    "compare": "--id --tasks --ignore --rate --alpha --confidence --people --title --seed -o "
    "--log --before --after",
    "drift": "--id --tasks --ignore --rate --confidence --title --seed -o --batches --log --time "
    "--every",
    "theory": "--nu --delta --m --beta --features --rho-min --alpha --n",
    "demo": "--tables -o",
}
FLAGS = {
    "fit": "--extendable --quiet --json",
    "frontier": "--extendable --quiet --json",
    "predict": "--probabilities --json",
    "extend": "--json",
    "export": "--json",
    "audit": "--common-people --skip-undecided --inconclusive-passes --json",
    "compare": "--common-people --skip-undecided --learned-tasks --json",
    "drift": "--common-people --skip-undecided --json",
    "theory": "--json",
    "demo": "--quiet --json",
}
BASE = {
    "fit": ["people.csv", "--tasks", "task_*", "--id", "person", "-o", "out.model"],
    "frontier": [
        "people.csv",
        "-t",
        "task_*",
        "--id",
        "person",
        "--alphas",
        "0.2",
        "-o",
        "out.html",
    ],
    "predict": ["fair.model", "people.csv", "-o", "out.csv"],
    "extend": ["fair.model", "new_labels.csv", "-o", "out.model"],
    "export": ["fair.model", "-o", "out.csv"],
    "audit": ["labels.csv", "decisions.csv", "--id", "person", "-o", "out.html"],
    "compare": ["labels.csv", "decisions.csv", "decisions.csv", "--id", "person", "-o", "out.html"],
    "drift": ["labels.csv", "decisions.csv", "--id", "person", "-o", "out.html"],
    "theory": ["--alpha", "0.1", "--n", "100"],
    # A demo that runs takes seconds, so one argument is always wrong.
    "demo": ["-o", "nowhere/out.html"],
}
SHORT = {"fit": ["--max-rounds", "2"], "frontier": ["--max-rounds", "2"]}


def command(rng):
    """Return a command with odd options."""
    name = str(
        rng.choice(
            [
                "fit",
                "fit",
                "frontier",
                "predict",
                "predict",
                "extend",
                "export",
                "audit",
                "audit",
                "theory",
                "demo",
            ]
        )
    )
    args = [*BASE[name], *SHORT.get(name, [])]
    for _ in range(int(rng.choice([0, 0, 1, 1, 2, 4]))):
        option = str(rng.choice(OPTIONS[name].split()))
        word = WORDS[rng.integers(len(WORDS))]
        if name == "demo" and option == "-o":
            continue
        args += [f"{option}={word}"] if rng.random() < 0.3 else [option, word]
    if rng.random() < 0.2:
        args.append(str(rng.choice(FLAGS[name].split())))
    if rng.random() < 0.15 and name != "demo":
        args[rng.integers(len(args))] = WORDS[rng.integers(len(WORDS))]
    if rng.random() < 0.05 and name != "demo":
        del args[rng.integers(len(args))]
    return [name, *args]
