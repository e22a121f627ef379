// Draws the page of a trade-off curve and updates it when the slider moves.

(() => {
  const data = JSON.parse(document.getElementById("frontier-data").textContent);
  const points = data.points, alphas = points.map((point) => point.alpha);
  const slider = document.getElementById("alpha"), choice = document.getElementById("rate");
  const last = points.length - 1;
  const state = { point: data.start, rate: data.widest_rate };
  const here = () => points[state.point];
  const column = (name) => points.map((point) => point[name]);
  // A single alpha needs an artificial width.
  const alphaDomain = domain([alphas], alphas.length > 1 ? 0.03 : 0.3);

  const HELD_OUT = {
    people: { tone: "green", dash: "7 4", mark: "square", name: "new people" },
    tasks: { tone: "purple", dash: "2 3", mark: "triangle", name: "new tasks" },
    both: { tone: "red", dash: "9 3 2 3", mark: "diamond", name: "both new" },
  };
  const corners = Object.entries(data.corners).filter(([name]) => name !== "training");

  function costSpec() {
    const layers = [
      ...corners.map(([name, corner]) => ({ type: "band", x: alphas, low: corner.error_low, high: corner.error_high, tone: HELD_OUT[name].tone })),
      { type: "level", at: data.unconstrained.error, tone: "grey", dash: "1 4", name: "without a constraint" },
      { type: "line", x: alphas, y: column("coin_flips"), tone: "grey", dash: "6 4", name: "coin flips" },
      ...corners.map(([name, corner]) => ({ type: "line", x: alphas, y: corner.error, ...HELD_OUT[name] })),
      { type: "line", x: alphas, y: column("error"), tone: "blue", mark: "dot", name: "training" },
      { type: "rule", at: here().alpha, tone: "ink", dash: "2 3" },
      { type: "marks", x: [here().alpha], y: [here().coin_flips], mark: "big", tone: "grey" },
      { type: "marks", x: [here().alpha], y: [here().error], mark: "big", tone: "blue", texts: [written(here().error, 3)] },
    ];
    return {
      label: `Error against alpha. At alpha ${here().label} the training error is ${written(here().error)}, ` +
        `${written(here().coin_flips)} with coin flips and ${written(data.unconstrained.error)} without a constraint.`,
      x: alphaDomain,
      y: fromZero(domain([column("error"), column("coin_flips"), [data.unconstrained.error],
        ...corners.flatMap(([, corner]) => [corner.error, corner.error_low, corner.error_high])])),
      xLabel: "alpha: largest allowed distance from the common rate",
      yLabel: "error", layers,
    };
  }

  function distributionSpec() {
    const rate = data.rates[state.rate], now = rate.histograms[state.point];
    const common = here().common_rate[state.rate], edges = rate.edges[state.point];
    const free = rate.unconstrained[state.point];
    const rated = now.some((number) => number > 0) && common !== null;
    const inBand = rated ? [common - here().alpha, common + here().alpha] : [];
    return {
      label: `Distribution of ${rate.name} rates at alpha ${here().label}, and without a constraint. ` +
        `The common rate is ${written(common)}.`,
      x: [rate.low, rate.high],
      y: [0, 1.08 * Math.max(1, ...now, ...free)],
      xLabel: `individual ${rate.name} rate`, yLabel: "people", yWhole: true,
      layers: [
        { type: "span", from: inBand[0] ?? null, to: inBand[1] ?? null, tone: "band", name: "common rate ± alpha" },
        { type: "bars", edges, counts: now, tone: "blue", name: `at alpha ${here().label}` },
        { type: "outline", edges, counts: free, tone: "red", dash: "5 3", name: "without a constraint" },
        { type: "rule", at: rated ? common : null, tone: "ink", dash: "2 3", name: "common rate" },
      ],
    };
  }

  function cornerSpec(name, corner) {
    const near = data.corners.training.near;
    const all = corners.flatMap(([, other]) => [other.near, other.floor, other.denoised]);
    return {
      label: `${corner.name}: at alpha ${here().label} all but ${100 * data.beta}% of the observed rates are within ` +
        `${written(corner.near[state.point])} of a common rate` + (corner.learned_tasks ? "." :
        `; noise alone would give ${written(corner.floor[state.point])}; for true rates it is about ` +
        `${written(corner.denoised[state.point])}.`),
      x: alphaDomain, y: [0, domain([...all, near])[1]], height: 250,
      xLabel: "alpha", yLabel: "distance",
      layers: [
        ...(corner.learned_tasks ? [] : [{ type: "line", x: alphas, y: corner.floor, tone: "orange", dash: "2 3", name: "noise alone" }]),
        { type: "line", x: alphas, y: corner.near, tone: "blue", mark: "dot", name: "observed" },
        ...(corner.learned_tasks ? [] : [{ type: "line", x: alphas, y: corner.denoised, tone: "green", dash: "7 4", mark: "square", name: "without noise" }]),
        { type: "line", x: alphas, y: near, tone: "grey", thin: true, name: "training" },
        { type: "rule", at: here().alpha, tone: "ink", dash: "2 3" },
      ],
    };
  }

  const drawn = [
    chart(document.getElementById("curve-chart"), costSpec),
    chart(document.getElementById("distribution-chart"), distributionSpec),
    ...corners.map(([name, corner]) =>
      chart(document.querySelector(`[data-corner="${name}"]`), () => cornerSpec(name, corner))),
  ];

  function taskColumns() {
    const now = data.task_errors[state.point], loosest = data.task_errors[last];
    return {
      name: data.task_names, now, loosest,
      change: now.map((error, k) => (error === null ? null : error - loosest[k])),
    };
  }

  const tasks = dataTable(document.querySelector('[data-table="per-task"]'), [
    { key: "name", name: "task" },
    { key: "now", name: "error", number: true, write: (value) => written(value) },
    { key: "loosest", name: `at alpha ${points[last].label}`, number: true, write: (value) => written(value) },
    { key: "change", name: "change", number: true, write: signed },
  ], taskColumns(), { id: "per-task", search: "per-task-search", what: "tasks", caption: "Error of each task" });

  function signed(value) {
    const text = written(value);
    return value > 0 && Number(text) !== 0 ? `+${text}` : text;
  }

  function showFigures() {
    const point = here();
    for (const name of ["error", "spread", "coin_flips"]) {
      setFigure(name, written(point[name]), point[name] ?? "");
    }
    setFigure("outside", point.outside_text, point.outside ?? "");
    setFigure("common_rate", point.common_rate.map((rate) => written(rate)).join(", "), point.common_rate.join(","));
    setFigure("columns", String(point.columns), point.columns);
    document.getElementById("statement").textContent = point.statement;
    document.getElementById("carried").textContent = point.carried;
    document.getElementById("alpha-value").textContent = point.label;
    for (const element of document.querySelectorAll("[data-alpha]")) element.textContent = point.label;
    slider.setAttribute("aria-valuetext", `alpha ${point.label}`);
  }

  function setFigure(name, text, value) {
    const element = document.querySelector(`[data-figure="${name}"]`);
    element.textContent = text;
    element.dataset.value = value;
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
      `The ${count(worst.name.length)} of ${count(rated)} people with the highest ${rate.name} rates at alpha ${here().label}${more}.`;
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
