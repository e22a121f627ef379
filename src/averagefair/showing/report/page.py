"""The page: templates, style, charts and data in one file.

Names and settings come from other people, so the page must treat them as text only. They reach the
page in two ways: through templates that escape everything, and as JSON in which no character can
end a script element. A page cannot hold control characters, so these are written as escapes. The
style sheet shortens very long names; the page still contains the whole name. The content security
policy names the page's script by its hash, so no other script runs and nothing is fetched.
"""

from __future__ import annotations

import json
import unicodedata
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from averagefair._util.names import in_html
from averagefair._util.text import counted, percent, plain
from averagefair._util.versions import versions
from averagefair.auditing import Audit
from averagefair.auditing.assessment import Assessment
from averagefair.auditing.gate import Gate
from averagefair.auditing.rules import Rules
from averagefair.errors import InputError, extra
from averagefair.evaluation.generalisation import Generalisation, same_curve
from averagefair.frontier import Frontier
from averagefair.game.rates import spoken
from averagefair.showing.headline import audit_headline, frontier_headline
from averagefair.showing.report.audit_data import (
    audit_data,
    audit_figures,
    audit_strip,
    exchangeability_words,
    rule_rows,
    systemic_rows,
)
from averagefair.showing.report.frontier_data import (
    CORNERS,
    corner_tables,
    curve_table,
    figure_names,
    frontier_data,
    frontier_strips,
    read_training,
    worst_table,
)
from averagefair.showing.report.headline_data import headline_data, headline_rows
from averagefair.showing.report.pays_data import HEAD, pays_data, pays_tables
from averagefair.showing.report.promise_words import promise_words
from averagefair.showing.report.story import Image, Section

# Longer names and settings are cut to a few lines. charts.js repeats LONG_NAME.
LONG_NAME, LONG_SETTING = 200, 4000
# These characters could end a script element, open a comment in it, or end a JavaScript line.
UNSAFE = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def frontier_report(
    curve: Frontier,
    Y: Any,
    *,
    measured: Generalisation | None = None,
    beside: Frontier | None = None,
    beside_measured: Generalisation | None = None,
    choice: float | None = None,
    audit: Audit | None = None,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Return a page about a trade-off curve, as the text of one HTML file.

    Parameters
    ----------
    curve : Frontier
    Y : array-like or DataFrame, shape (n, m)
        The labels that the curve was trained on.
    measured : Generalisation, optional
        The curve on held-out people and tasks, from :func:`averagefair.generalisation`.
    beside : Frontier, optional
        Another curve of the same people and tasks, for example with ``WorstOff(0.1)`` beside equal
        rates. The section "Who pays" shows both.
    beside_measured : Generalisation, optional
        The other curve on held-out people and tasks.
    choice : float, optional
        The value (alpha, cap or price) that the page opens at; it must be on the curve. Default:
        the middle one.
    audit : Audit, optional
        An audit of the chosen model on held-out people or tasks, shown on the same page.
    title : str, optional
    settings : mapping, optional
        How to make the report again (files, options, a command line), shown as given.

    Examples
    --------
    >>> from averagefair import frontier
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=60, m=20)
    >>> curve = frontier(people.X, people.Y, [0.05, 0.1], random_state=0)
    >>> page = frontier_report(curve, people.Y, title="Sixty people")
    >>> page.count("<h1>Sixty people</h1>")
    1
    """
    if not isinstance(curve, Frontier):
        raise InputError(f"`curve` must be a result of frontier(); got {type(curve).__name__}.")
    _check_audit(audit, optional=True)
    start = len(curve) // 2 if choice is None else curve.points.index(curve.at(choice))
    sample, test = read_training(curve, Y), same_curve(curve, measured)
    data, words = frontier_data(curve, sample, test, start), promise_words(curve)
    curves = [(curve, test), *_other_curve(beside, beside_measured, Y)]
    data["pays"] = plain(pays_data(curves, CORNERS))
    heads = [frontier_headline(curve, point, test) for point in curve]
    for point, head in zip(data["points"], heads, strict=True):
        point["headline"] = headline_rows(head)
    names = " and ".join(rate["name"] for rate in data["rates"])
    blocks = {"frontier-data": data}
    context = {
        "title": title or "What average individual fairness costs",
        "headline": headline_data(heads[start], frontier_strips(curve), start),
        "data": data,
        "point": data["points"][start],
        "table": curve_table(data),
        "worst": worst_table(data),
        "corners": corner_tables(data),
        "figures": figure_names(curve),
        "asked": words.asked.format(rates=f"{names} rate{'s' if len(data['rates']) > 1 else ''}"),
        "pays": pays_tables(data["pays"]),
        "pays_head": HEAD,
        "look": None if curve.first_look is None else curve.first_look.statement(),
        "fresh": any(not corner["learned_tasks"] for corner in data["corners"].values()),
        "several": len(data["rates"]) > 1,
        "beta": percent(data["beta"]),
        "level": percent(data["confidence"]),
        "contents": _frontier_contents(data, audit is not None),
        "audit": None,
        "choice": None if choice is None else f"{curve[start].value:g}",
    }
    if audit is not None:
        blocks["audit-data"] = audit_data(audit)
        context["audit"] = _audit_context(audit, blocks["audit-data"])
        context["audit_headline"] = headline_data(audit_headline(audit), [audit_strip(audit)])
    scripts = ["charts.js", "tables.js", "frontier.js", "audit.js"]
    return make_page("frontier.html", context, blocks, scripts, _settings(curve), settings)


def _frontier_contents(data: dict[str, Any], audited: bool) -> list[tuple[str, str]]:
    """Return the id and the title of each section."""
    held_out = len(data["corners"]) > 1
    sections = {
        "short": ("In words", True),
        "figures": (f"At this {data['figure']}", True),
        "cost": ("What fairness costs", True),
        "distribution": ("Distribution of individual rates", True),
        "worst": ("Who is worst off", True),
        "by-task": ("Error of each task", True),
        "pays": ("Who pays", bool(data["pays"]["corners"])),
        "unseen": ("Held-out people and tasks", held_out),
        "proved": ("What is proved, and what is not", True),
        "whole": ("The whole curve", True),
        "words": ("Terms", True),
        "audit": ("The audit", audited),
        "made": ("How this was made", True),
    }
    return [(key, name) for key, (name, there) in sections.items() if there]


def _other_curve(
    beside: Any, measured: Generalisation | None, Y: Any
) -> list[tuple[Frontier, Generalisation]]:
    """Check the curve beside the page's own; it must be of the same people and tasks."""
    if beside is None:
        if measured is not None:
            raise InputError("`beside_measured` needs `beside`, the curve that it measures.")
        return []
    if not isinstance(beside, Frontier):
        raise InputError(f"`beside` must be a result of frontier(); got {type(beside).__name__}.")
    read_training(beside, Y)
    return [(beside, same_curve(beside, measured))]


def audit_report(
    audit: Audit,
    *,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    rules: Rules | None = None,
    gate: Gate | None = None,
) -> str:
    """Return a page about an audit, as the text of one HTML file.

    Parameters
    ----------
    audit : Audit
    title : str, optional
    settings : mapping, optional
        How to make the report again (files, options, a command line), shown as given.
    rules : Rules, optional
        Rules on features that say who has high rates, from :meth:`Audit.who`.
    gate : Gate, optional
        What was asked of the audit, and the outcome. Default: its alpha, if it has one.

    Examples
    --------
    >>> from averagefair import audit
    >>> found = audit([[1, 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 1, 1]])
    >>> "<h1>Audit of individual error rates</h1>" in audit_report(found)
    True
    """
    _check_audit(audit)
    if not (gate is None or isinstance(gate, Gate)):
        raise InputError(f"`gate` must be a Gate, as judge() returns it; got {gate!r}.")
    blocks = {"audit-data": audit_data(audit)}
    context = {
        "title": title or f"Audit of individual {spoken(audit.rate)} rates",
        "headline": headline_data(audit_headline(audit, gate), [audit_strip(audit)]),
        "audit": _audit_context(audit, blocks["audit-data"], rules),
    }
    scripts = ["charts.js", "tables.js", "audit.js"]
    own = {"rate": spoken(audit.rate), "confidence": audit.confidence, "seed": audit.seed}
    return make_page("audit.html", context, blocks, scripts, own, settings)


def story_report(
    title: str,
    lead: str,
    sections: Sequence[Section],
    images: Mapping[str, Image],
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Return a page of findings: text, pictures and small tables in one HTML file.

    Parameters
    ----------
    title, lead : str
    sections : sequence of Section
        Every figure that a section names must be among the images.
    images : mapping of str to Image
    settings : mapping, optional
        How to make the page again, shown as given.

    Examples
    --------
    >>> page = story_report("Trial", "A trial.", [Section("Result", ["It <works>."])], {})
    >>> "<p>It &lt;works&gt;.</p>" in page
    True
    """
    missing = {name for section in sections for name in section.figures} - images.keys()
    if missing:
        raise InputError(f"`images` lacks figures of the sections: {', '.join(sorted(missing))}.")
    drawn = {
        name: {"png": b64encode(image.png).decode(), "alt": image.alt}
        for name, image in images.items()
    }
    context = {"title": title, "lead": lead, "sections": sections, "images": drawn}
    return make_page("story.html", context, {}, [], {}, settings)


def _settings(curve: Frontier) -> dict[str, Any]:
    """Return the settings that a curve was trained with."""
    known = curve[0].model.get_params(deep=False)
    names = ["rate", "oracle", "solver", "random_state"]
    if known["promise"] is None:
        names[3:3] = [
            "beta",
            "max_influence",
            *(["no_harm"] if known["no_harm"] is not None else []),
        ]
    else:
        names.insert(0, "promise")
    shown = {name.replace("_", " "): known[name] for name in names}
    shown["decisions"] = curve[0].certificate.decisions
    return {name: "default" if value is None else value for name, value in shown.items()}


def _check_audit(audit: Any, *, optional: bool = False) -> None:
    if not (isinstance(audit, Audit) or (optional and audit is None)):
        raise InputError(f"`audit` must be a result of audit(); got {type(audit).__name__}.")


def _audit_context(
    audit: Audit, data: dict[str, Any], rules: Rules | None = None
) -> dict[str, Any]:
    head, *paragraphs = audit.summary().splitlines()
    sections = {
        "short": ("In words", True),
        "numbers": ("The numbers", True),
        "rates": ("Individual rates", True),
        "chance": ("More than chance?", not audit.learned_tasks),
        "near": ("How close together", True),
        "systemic": ("The same people again and again", bool(audit.systemic.k.size)),
        "rules": ("Who has high rates", rules is not None),
        "groups": ("By group", bool(data["groups"])),
        "people": ("People", True),
        "tasks": ("Tasks", True),
        "words": ("Terms", True),
    }
    return {
        "head": head,
        "contents": [(f"audit-{key}", name) for key, (name, there) in sections.items() if there],
        "paragraphs": [line for line in paragraphs if not line.startswith("Note: ")],
        "notes": audit.notes,
        "figures": audit_figures(audit),
        "assessment": audit.assessment,
        "verdict": None if audit.assessment is None else _verdict(audit.assessment),
        "verdict_value": None
        if audit.assessment is None or audit.assessment.verdict is None
        else audit.assessment.verdict.value,
        "learned": audit.learned_tasks,
        "exchangeability": exchangeability_words(audit),
        "groups": data["groups"],
        "systemic": systemic_rows(audit),
        "systemic_words": audit.systemic.statement(),
        "rules": None if rules is None else rule_rows(rules),
        "rules_tried": None if rules is None else counted(rules.tried, "candidate"),
        "level": percent(audit.confidence),
        "asked": None
        if audit.assessment is None
        else f"{_who(audit.assessment.beta)} within {audit.assessment.alpha:g} of a common rate",
        "families": audit.tasks.family is not None,
    }


def _verdict(assessment: Assessment) -> str:
    """Return the verdict on the request in a few words."""
    if assessment.verdict is None:
        return f"{'met' if assessment.met_as_observed else 'not met'} as observed on these tasks"
    return str(assessment.verdict.value)


def _who(beta: float) -> str:
    return "Everybody" if beta == 0 else f"All but {percent(beta)}"


def make_page(
    template: str,
    context: dict[str, Any],
    blocks: dict[str, dict[str, Any]],
    scripts: list[str],
    own: Mapping[str, Any],
    settings: Mapping[str, Any] | None,
) -> str:
    """Return the page of a template, with its data, its one script and that script's hash."""
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"`settings` must map names to values; got {settings!r}.")
    script = '"use strict";\n' + "\n".join(_asset(name) for name in scripts)
    text: str = (
        _templates()
        .get_template(template)
        .render(
            **context,
            style=_asset("report.css"),
            script=script,
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            blocks={name: embed(block) for name, block in blocks.items()},
            settings={str(name): str(value) for name, value in {**own, **(settings or {})}.items()},
            written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            versions=versions(),
            long_setting=LONG_SETTING,
        )
    )
    # A file name may contain bytes that are not valid text.
    return text.encode(errors="replace").decode()


def embed(data: Any) -> str:
    r"""Return data as JSON that stays data inside an HTML script element.

    Examples
    --------
    >>> print(embed({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    written = json.dumps(_shown(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return written.translate(UNSAFE)


def _shown(data: Any) -> Any:
    """Return data, or a value in a template, with strings that a page can hold."""
    if isinstance(data, dict):
        return {in_html(name): _shown(part) for name, part in data.items()}
    if isinstance(data, list):
        return [_shown(part) for part in data]
    if isinstance(data, str) and not hasattr(data, "__html__"):
        return in_html(data)
    return data


def _name(text: Any, longest: int = LONG_NAME) -> Any:
    """Return a name for a page; a long name is cut to a few lines and has the whole as title."""
    text = in_html(str(text))
    if len(text) <= longest and not _heaped(text):
        return text
    return _markup()('<span class="long" title="{0}">{0}</span>').format(text)


def _heaped(text: str) -> bool:
    """Return whether a letter has more than eight combining marks; no line can break there."""
    run = 0
    for letter in text:
        run = run + 1 if unicodedata.category(letter).startswith("M") else 0
        if run > 8:
            return True
    return False


def _markup() -> Any:
    return extra("markupsafe", "report").Markup


@cache
def _templates() -> Any:
    jinja = extra("jinja2", "report")
    made = jinja.Environment(
        loader=jinja.FunctionLoader(_asset),
        autoescape=True,
        finalize=_shown,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["name"] = _name
    return made


@cache
def _asset(name: str) -> str:
    return resources.files("averagefair.showing.report").joinpath("assets", name).read_text("utf-8")
