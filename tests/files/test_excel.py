"""Excel workbooks, written by pandas and openpyxl: read as the CSV file of the same table."""

import datetime
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest

from averagefair import InputError
from averagefair.files.excel import split_sheet
from averagefair.files.reading import read_file
from averagefair.files.streaming import FileBlocks
from averagefair.files.writing import check_output


def workbook(path, rows, title="people", **more):
    """Write a workbook of plain cells; ``more`` are other sheets by name."""
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for name, cells in more.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append(row)
    book.save(path)
    return str(path)


def cells_of(table):
    return {name: column.to_pylist() for name, column in table.columns.items()}


def test_a_sheet_is_read_as_the_csv_file_of_the_same_table(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"{row:03}" for row in range(40)],
            "income": rng.normal(30, 8, 40).round(3),
            "children": rng.integers(0, 5, 40),
            "word": rng.choice(["north", "=1+1", "a, b", "größe"], 40),
            "task": rng.choice([0.0, 1.0, np.nan], 40),
            "flag": rng.random(40) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(40), unit="D"),
        }
    )
    table["word"] = table["word"].mask(rng.random(40) < 0.2)
    table.to_excel(tmp_path / "people.xlsx", index=False, engine="openpyxl")
    # Text that begins with "=" is a formula for openpyxl, so its cells are written as text.
    book = openpyxl.load_workbook(tmp_path / "people.xlsx")
    for row in book.active.iter_rows(min_row=2):
        if str(row[3].value).startswith("="):
            row[3].data_type = "s"
    book.save(tmp_path / "people.xlsx")
    table.to_csv(tmp_path / "people.csv", index=False)
    excel, text = (read_file(str(tmp_path / f"people.{kind}")) for kind in ("xlsx", "csv"))
    numbers = ["income", "children", "flag"]
    np.testing.assert_array_equal(excel.numbers(numbers), text.numbers(numbers))
    np.testing.assert_array_equal(excel.labels(["task"]), text.labels(["task"]))
    for name in ("id", "word", "since"):
        assert excel.words(name, "") == text.words(name, "")
    np.testing.assert_array_equal(excel.by("id").ids, text.by("id").ids)
    assert len(excel.digest) == 64


def test_every_kind_of_cell(tmp_path):
    path = tmp_path / "kinds.xlsx"
    day = datetime.datetime(2026, 5, 31)
    rows = [
        ["id", 2024, "when", "flag", "merged", None],
        [7, 0.1, day, True, "both", None],
        [1.5, 1e-7, day.replace(hour=12), False, None, None],
        [None, None, None, None, None, None],
        ["007", 12345678, datetime.time(3, 4), "TRUE", " x ", None],
    ]
    workbook(path, rows)
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("E2:E3")
    book.save(path)
    assert cells_of(read_file(str(path))) == {
        "id": ["7", "1.5", None, "007"],
        "2024": ["0.1", "1e-07", None, "12345678"],
        "when": ["2026-05-31", "2026-05-31T12:00:00", None, "03:04:00"],
        "flag": ["true", "false", None, "TRUE"],
        "merged": ["both", None, None, " x "],
    }


def test_empty_rows_and_columns_around_the_table_do_not_count(tmp_path):
    book = openpyxl.Workbook()
    for row, cells in enumerate([["id", "x"], ["a", 1], [None, None], ["b", 2]]):
        for column, cell in enumerate(cells):
            book.active.cell(row=row + 4, column=column + 3, value=cell)
    book.active.cell(row=40, column=9, value="  ")
    book.save(tmp_path / "apart.xlsx")
    table = read_file(str(tmp_path / "apart.xlsx"))
    assert cells_of(table) == {"id": ["a", None, "b"], "x": ["1", None, "2"]}


def test_long_sheets_keep_every_row(tmp_path, monkeypatch):
    monkeypatch.setattr("averagefair.files.excel._ROWS", 7)
    rows = [["id", "x", "y"], *([f"p{row}", row, None] for row in range(30)), ["p30", 30, 5]]
    path = workbook(tmp_path / "long.xlsx", rows)
    (table,) = FileBlocks(path).by("id")
    assert table.numbers(["x"])[:, 0].tolist() == [*range(31)]
    assert cells_of(table)["y"] == [None] * 30 + ["5"]


def test_the_sheet_is_named_after_the_file(tmp_path):
    path = workbook(tmp_path / "two.xlsx", [["a"], [1]], "One", **{"The #2": [["b"], [2]]})
    assert cells_of(read_file(path)) == {"a": ["1"]}
    for name in ("The #2", "the #2"):
        assert cells_of(read_file(f"{path}#{name}")) == {"b": ["2"]}
        (table,) = FileBlocks(f"{path}#{name}")
        assert table.source == f"{path}#{name}"
    with pytest.raises(InputError, match=r"no sheet 'Thee 2'. Did you mean 'The #2'.*'One', 'The"):
        read_file(f"{path}#Thee 2")
    # A file of that name comes first.
    (tmp_path / "odd.xlsx#One").write_text("c\n3\n")
    assert split_sheet(str(tmp_path / "odd.xlsx#One")) == (str(tmp_path / "odd.xlsx#One"), None)


def test_a_workbook_that_is_read_is_not_written_over(tmp_path):
    path = workbook(tmp_path / "people.xlsx", [["a"], [1]])
    with pytest.raises(InputError, match="is also an input"):
        check_output(path, inputs=[f"{path}#people"])


@pytest.mark.parametrize("error", ["#N/A", "#DIV/0!", "#REF!"])
def test_an_error_is_refused_by_the_name_of_its_cell(error, tmp_path):
    path = workbook(tmp_path / "odd.xlsx", [["id", "x"], ["a", 1], ["b", error]])
    with pytest.raises(InputError, match=rf"cell B3 of sheet 'people' holds the error {error}"):
        read_file(path)


FORMULAS = """<?xml version="1.0"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
<row r="1"><c r="A1" t="str"><f>"na"&amp;"me"</f><v>name</v></c><c r="B1" t="inlineStr">
<is><t>x</t></is></c></row>
<row r="2"><c r="A2" t="str"><f>""</f><v></v></c><c r="B2"><f>1+1</f><v>2</v></c></row>
<row r="3"><c r="A3" t="inlineStr"><is><t>b</t></is></c><c r="B3"><f>B2</f>{}</c></row>
</sheetData></worksheet>"""


def with_sheet(path, xml):
    """Write a workbook with this XML as its only sheet."""
    workbook(path, [["a"], [1]])
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["xl/worksheets/sheet1.xml"] = xml.encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return str(path)


def test_formulas_give_their_results_and_a_missing_result_is_refused(tmp_path):
    table = read_file(with_sheet(tmp_path / "formulas.xlsx", FORMULAS.format("<v>3</v>")))
    assert table.words("name", "") == [None, "b"]
    assert table.numbers(["x"])[:, 0].tolist() == [2.0, 3.0]
    for missing in ("", "<v/>", "<v></v>"):
        path = with_sheet(tmp_path / "formulas.xlsx", FORMULAS.format(missing))
        with pytest.raises(InputError, match=r"cell B3 .* a formula without a result\. Open"):
            read_file(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "sheet 'people' is empty"),
        ([["a", "b"]], "has no rows"),
        ([["a", "b", "a"], [1, 2, 3]], "two columns are called 'a'"),
        ([["a", None], [1, 2]], "column 2 has no name"),
        ([["a"], [1, 2]], "column 2 has no name"),
        ([[None, None], [None, None]], "is empty"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(rows, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read_file(workbook(tmp_path / "odd.xlsx", rows))


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path.read_bytes()


def test_what_is_no_workbook_is_refused(tmp_path):
    workbook(tmp_path / "whole.xlsx", [["a"], [1]])
    whole = (tmp_path / "whole.xlsx").read_bytes()
    within = whole.index(b"xl/worksheets/sheet1.xml") + 40
    path = tmp_path / "odd.xlsx"
    cases = {
        b"a,b\n1,2\n": "not an Excel workbook, whatever its name",
        b"PAR1....": "not an Excel workbook, whatever its name",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest": "old Excel file .* password",
        whole[:-40]: "not a whole Excel workbook",
        whole[:within] + b"xx" + whole[within + 2 :]: "not a whole Excel workbook",
        zipped(path, {"a.txt": "a"}): "an archive, but not an Excel workbook",
        zipped(path, {"xl/workbook.xml": "<"}): "not a whole Excel workbook",
        b"": "is empty",
    }
    for content, message in cases.items():
        path.write_bytes(content)
        for name in (str(path), f"{path}#people"):
            with pytest.raises(InputError, match=message):
                read_file(name)


def test_an_archive_that_expands_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("averagefair.files.excel._LARGE", 1 << 20)
    path = with_sheet(tmp_path / "bomb.xlsx", " " * (1 << 23))
    with pytest.raises(InputError, match="would expand to 8 MB, 200 times its length"):
        read_file(path)
    # Entities that refer to each other are not expanded without end either.
    names = [f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 12)]
    laughs = f'<!DOCTYPE x [<!ENTITY e0 "ha">{"".join(names)}]>'
    xml = FORMULAS.format("<v>3</v>").replace("<worksheet", f"{laughs}<worksheet")
    path = with_sheet(tmp_path / "laughs.xlsx", xml.replace("<t>b</t>", "<t>&e11;</t>"))
    with pytest.raises(InputError, match="not a whole Excel workbook"):
        read_file(path)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    path = workbook(tmp_path / "people.xlsx", [["a"], [1]])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'averagefair\[excel\]'"):
        read_file(path)
