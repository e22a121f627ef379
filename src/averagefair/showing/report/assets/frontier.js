// Draws the page of a trade-off curve and updates it when the slider moves.

(() => {
  const data = JSON.parse(document.getElementById("frontier-data").textContent);
  const points = data.points, values = points.map((point) => point.value);
  const slider = document.getElementById("value"), choice = document.getElementById("rate");
  const state = { point: data.start, rate: data.widest_rate };
  const here = () => points[state.point];
  const column = (name) => points.map((point) => point[name]);
  const named = (point) => `${data.figure} ${point.label}`;

  const HELD_OUT = {
    people: { tone: "green", dash: "7 4", mark: "square", name: "new people" },
    tasks: { tone: "purple", dash: "2 3", mark: "triangle", name: "new tasks" },
    both: { tone: "red", dash: "9 3 2 3", mark: "diamond", name: "both new" },
  };
  const corners = Object.entries(data.corners).filter(([name]) => name !== "training");

  // Returns the last point worth showing: beyond it all errors stay as they are. The chart always
  // shows the chosen point.
  const FLAT = 0.03;
  const settled = Math.max(...[column("error"), ...corners.map(([, corner]) => corner.error)].map((list) => {
    const known = list.filter((value) => value !== null), last = list.length - 1;
    const near = FLAT * (Math.max(...known) - Math.min(...known));
    let place = last;
    while (place > 0 && list[place - 1] !== null && Math.abs(list[place - 1] - list[last]) <= near) place--;
    return Math.min(last, place + 1);
  }));
  const shownTo = () => Math.max(settled, state.point);
  // A single value needs an artificial width.
  const valueDomain = () => domain([values.slice(0, shownTo() + 1)], shownTo() > 0 ? 0.03 : 0.3);
  const seen = (list) => list.slice(0, shownTo() + 1);

  function costSpec() {
    const layers = [
      ...corners.map(([name, corner]) => ({ type: "band", x: values, low: corner.error_low, high: corner.error_high, tone: HELD_OUT[name].tone })),
      { type: "level", at: data.unconstrained.error, tone: "grey", dash: "1 4", name: "without a constraint" },
      ...(data.equal ? [{ type: "line", x: values, y: column("coin_flips"), tone: "grey", dash: "6 4", name: "coin flips" }] : []),
      ...corners.map(([name, corner]) => ({ type: "line", x: values, y: corner.error, ...HELD_OUT[name] })),
      { type: "line", x: values, y: column("error"), tone: "blue", mark: "dot", name: "training" },
      { type: "rule", at: here().value, tone: "ink", dash: "2 3" },
      { type: "marks", x: [here().value], y: [here().coin_flips], mark: "big", tone: "grey" },
      { type: "marks", x: [here().value], y: [here().error], mark: "big", tone: "blue", texts: [written(here().error, 3)] },
    ];
    return {
      label: `Error against ${data.figure}. At ${named(here())} the training error is ${written(here().error)}, ` +
        (data.equal ? `${written(here().coin_flips)} with coin flips and ` : "") +
        `${written(data.unconstrained.error)} without a constraint.`,
      x: valueDomain(),
      // Coin flips err far more at a small alpha: their line may leave the chart at the top.
      y: fromZero(domain([seen(column("error")), [data.unconstrained.error],
        ...corners.flatMap(([, corner]) => [corner.error, corner.error_low, corner.error_high].map(seen))], 0.12)),
      xLabel: `${data.figure}: ${data.meaning}`,
      yLabel: "error (share of decisions)", layers,
    };
  }

  function distributionSpec() {
    const rate = data.rates[state.rate], now = rate.histograms[state.point];
    const edges = rate.edges[state.point], free = rate.unconstrained[state.point];
    const some = now.some((number) => number > 0);
    const common = data.equal && some ? here().common_rate[state.rate] : null;
    const reached = !data.equal && some ? here().reached : null;
    const inBand = (some && rate.bands[state.point]) || [];
    const reachedName = document.querySelector('[data-figure="reached"]')?.previousElementSibling.textContent.toLowerCase();
    return {
      label: `Distribution of ${rate.name} rates at ${named(here())}, and without a constraint. ` +
        (data.equal ? `The common rate is ${written(common)}.` : `The ${reachedName} is ${written(reached)}.`),
      x: [rate.low, rate.high],
      y: [0, 1.08 * Math.max(1, ...now, ...free)],
      xLabel: `individual ${rate.name} rate${rate.step ? `: in steps of ${Number(rate.step.toPrecision(3))}` : ""}`, yLabel: "people", yWhole: true,
      layers: [
        ...(data.equal ? [{ type: "span", from: inBand[0] ?? null, to: inBand[1] ?? null, tone: "band", name: "common rate ± alpha" }] : []),
        { type: "bars", edges, counts: now, tone: "blue", name: `at ${named(here())}` },
        { type: "outline", edges, counts: free, tone: "red", dash: "5 3", name: "without a constraint" },
        { type: "rule", at: data.equal ? common : reached, tone: "ink", dash: "2 3", name: data.equal ? "common rate" : reachedName },
      ],
    };
  }

  const PAYS = [{ tone: "blue", mark: "dot" }, { tone: "orange", dash: "7 4", mark: "square" }];
  const paid = (name) => data.pays.series.flatMap((own) => own.corners[name] || []).filter((row) => row !== null);

  function paysSpec(name) {
    const corners = Object.keys(data.pays.corners), now = data.pays.series[0].corners[name]?.[state.point];
    const lines = data.pays.series.map((own, k) => [own, PAYS[k]]).filter(([own]) => own.corners[name]);
    const change = (rows, key) => rows.map((row) => row && row[key]);
    return {
      label: `${data.pays.corners[name]}: change of the worst-off tenth’s mean rate against change of the mean rate.` +
        (now ? ` At ${named(here())} they are ${signed(now.worst_change)} and ${signed(now.mean_change)}.` : ""),
      x: domain([[0], ...corners.map((key) => change(paid(key), "mean_change"))]),
      y: domain([[0], ...corners.map((key) => change(paid(key), "worst_change"))]),
      height: 270, xLabel: `change of the mean ${data.pays.rate} rate`, yLabel: "change, worst-off tenth",
      layers: [
        { type: "level", at: 0, tone: "grey", dash: "1 4" },
        { type: "rule", at: 0, tone: "grey", dash: "1 4" },
        ...lines.map(([own, look]) => ({ type: "line", x: change(own.corners[name], "mean_change"), y: change(own.corners[name], "worst_change"), ...look, name: own.name })),
        { type: "marks", x: [0], y: [0], mark: "cross", tone: "grey", name: data.pays.given ? "today" : "nothing asked" },
        { type: "marks", x: [now ? now.mean_change : null], y: [now ? now.worst_change : null], mark: "big", tone: "blue", texts: [here().label] },
      ],
    };
  }

  function cornerSpec(name, corner) {
    const near = data.corners.training.near;
    const all = corners.flatMap(([, other]) => [other.near, other.floor, other.denoised]);
    return {
      label: `${corner.name}: at ${named(here())} all but ${100 * data.beta}% of the observed rates are within ` +
        `${written(corner.near[state.point])} of a common rate` + (corner.learned_tasks ? "." :
        `; noise alone would give ${written(corner.floor[state.point])}; for true rates it is about ` +
        `${written(corner.denoised[state.point])}.`),
      x: valueDomain(), y: [0, domain([...all, near].map(seen))[1]], height: 250,
      xLabel: data.figure, yLabel: "distance (rate)",
      layers: [
        ...(corner.learned_tasks ? [] : [{ type: "line", x: values, y: corner.floor, tone: "orange", dash: "2 3", name: "noise alone" }]),
        { type: "line", x: values, y: corner.near, tone: "blue", mark: "dot", name: "observed" },
        ...(corner.learned_tasks ? [] : [{ type: "line", x: values, y: corner.denoised, tone: "green", dash: "7 4", mark: "square", name: "without noise" }]),
        { type: "line", x: values, y: near, tone: "grey", thin: true, name: "training" },
        { type: "rule", at: here().value, tone: "ink", dash: "2 3" },
      ],
    };
  }

  const drawn = [
    chart(document.getElementById("curve-chart"), costSpec),
    chart(document.getElementById("distribution-chart"), distributionSpec),
    ...Object.keys(data.pays.corners).map((name) =>
      chart(document.querySelector(`[data-pays="${name}"]`), () => paysSpec(name))),
    ...corners.map(([name, corner]) =>
      chart(document.querySelector(`[data-corner="${name}"]`), () => cornerSpec(name, corner))),
  ];

  function taskColumns() {
    const now = data.task_errors[state.point], loosest = data.task_errors[data.easiest];
    return {
      name: data.task_names, now, loosest,
      change: now.map((error, k) => (error === null ? null : error - loosest[k])),
    };
  }

  const tasks = dataTable(document.querySelector('[data-table="per-task"]'), [
    { key: "name", name: "task" },
    { key: "now", name: "error", number: true, write: (value) => written(value) },
    { key: "loosest", name: `at ${named(points[data.easiest])}`, number: true, write: (value) => written(value) },
    { key: "change", name: "change", number: true, write: signed },
  ], taskColumns(), { id: "per-task", search: "per-task-search", what: "tasks", caption: "Error of each task" });

  function signed(value) {
    const text = written(value);
    return value > 0 && Number(text) !== 0 ? `+${text}` : text;
  }

  function showFigures() {
    const point = here();
    for (const element of document.querySelectorAll("[data-figure]")) {
      [element.textContent, element.dataset.value] = point.shown[element.dataset.figure];
    }
    document.getElementById("statement").textContent = point.statement;
    document.getElementById("carried").textContent = point.carried;
    document.getElementById("shown-value").textContent = point.label;
    for (const element of document.querySelectorAll("[data-shown]")) element.textContent = point.label;
    slider.setAttribute("aria-valuetext", named(point));
  }

  function showHeadline() {
    const head = here().headline, box = document.querySelector(".headline");
    for (const name of ["question", "sentence"]) {
      box.querySelector(`[data-headline="${name}"]`).textContent = head[name];
    }
    const badge = box.querySelector(".badge");
    badge.dataset.badge = head.badge;
    badge.dataset.tone = head.tone;
    badge.querySelector(".icon").textContent = head.icon;
    badge.querySelector(".word").textContent = head.word;
    const rows = head.rows.map(([name, value]) => {
      const line = html("tr", {});
      html("th", { scope: "row" }, line, name);
      nameCell("td", {}, line, value);
      return line;
    });
    box.querySelector("tbody").replaceChildren(...rows);
    for (const strip of box.querySelectorAll("[data-strip]")) {
      strip.hidden = Number(strip.dataset.strip) !== state.point;
    }
    for (const item of here().live) {
      document.querySelector(`[data-live="${item.key}"]`).textContent = item.value;
    }
  }

  function showWorst() {
    const rate = data.rates[state.rate], worst = rate.worst_off[state.point];
    const rows = worst.name.map((name, k) => {
      const line = html("tr", {});
      nameCell("th", { scope: "row" }, line, String(name));
      html("td", { class: "number" }, line, written(worst.rate[k]));
      html("td", { class: "number" }, line, written(worst.unconstrained[k]));
      return line;
    });
    document.querySelector("#worst-off tbody").replaceChildren(...rows);
    const rated = data.people - rate.undefined;
    const more = worst.more ? `; ${count(worst.more)} more have the same rate as the last of them` : "";
    document.getElementById("worst-note").textContent = !rated ? `Nobody has a ${rate.name} rate.` :
      `The ${count(worst.name.length)} of ${count(rated)} people with the highest ${rate.name} rates at ${named(here())}${more}.`;
    document.getElementById("undefined").textContent = !rate.undefined ? "" :
      `${count(rate.undefined)} of ${count(data.people)} people have no ${rate.name} rate (no label counts, or their weight is 0) and are left out.`;
  }

  function showCertificate() {
    const lines = here().certificate.flatMap(([name, line]) => [html("dt", {}, null, name), html("dd", {}, null, line)]);
    document.getElementById("certificate").replaceChildren(...lines);
    for (const row of document.querySelectorAll("tr[data-place]")) {
      const mine = Number(row.dataset.place) === state.point;
      row.toggleAttribute("data-current", mine);
      if (mine) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
    }
  }

  function show() {
    showHeadline();
    showFigures();
    showWorst();
    showCertificate();
    tasks.update(taskColumns());
    for (const drawing of drawn) drawing.redraw();
  }

  slider.addEventListener("input", () => { state.point = Number(slider.value); show(); });
  choice.addEventListener("change", () => { state.rate = Number(choice.value); show(); });
  document.getElementById("rate-choice").hidden = data.rates.length < 2;
  slider.value = state.point;
  show();
})();
