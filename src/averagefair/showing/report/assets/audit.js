// Draws the sections of an audit.

(() => {
  const block = document.getElementById("audit-data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const percent = (share) => `${Number((100 * share).toFixed(1))}%`;
  const requested = data.alpha !== null, learned = data.learned_tasks;

  chart(document.getElementById("audit-rates-chart"), () => {
    const { place, rate, low, high, flagged, thinned, people } = data.sorted;
    const layers = [];
    if (requested) layers.push({ type: "span", across: true, from: data.common_rate - data.alpha, to: data.common_rate + data.alpha, tone: "band", name: `within ${data.alpha} of the common rate` });
    const interval = `${percent(data.confidence)} CI of each person`;
    if (learned) { /* training tasks are not a sample of other tasks: draw no intervals */ }
    else if (thinned) layers.push({ type: "band", x: place, low, high, tone: "orange", name: `${interval} (averaged over neighbours)` });
    else layers.push({ type: "sticks", x: place, low, high, tone: "orange", name: interval });
    layers.push({ type: "level", at: data.mean, tone: "ink", dash: "2 3", name: "mean" });
    layers.push({ type: "line", x: place, y: rate, tone: "blue", mark: people <= 60 ? "dot" : null, name: "individual rate" });
    if (flagged.length) layers.push({ type: "marks", x: flagged.map((k) => place[k]), y: flagged.map((k) => rate[k]), mark: "down", tone: "ink", name: learned ? "above, as observed" : "clearly above" });
    return {
      label: `Individual ${data.rate} rates of ${count(people)} people from best off to worst off, from ${written(rate[0])} to ${written(rate[rate.length - 1])}, ${learned ? "as observed" : "with intervals"}.`,
      x: [0.5, Math.max(1.5, people + 0.5)], y: [0, Math.max(0.05, domain([high, rate], 0.04)[1])],
      xLabel: "people, from best off to worst off", yLabel: `${data.rate} rate`, xWhole: true, layers,
    };
  });

  if (!learned) chart(document.getElementById("audit-chance-chart"), () => {
    const test = data.chance, edges = test.edges, some = test.counts.length > 0;
    const flips = test.enumerated ? "all flips" : `${count(test.flips)} random flips`;
    return {
      label: test.p === null ? "There is no test." : `Differences between people under chance alone, and as observed: p = ${test.p.toPrecision(3)}.`,
      x: domain([edges, [test.statistic], some ? [] : [0]]), y: [0, 1.1 * Math.max(1, ...test.counts)], height: 250,
      xLabel: "size of the differences (ratio): 0 is the average under chance", yLabel: "number of flips", yWhole: true,
      layers: [
        ...(some ? [{ type: "bars", edges, counts: test.counts, tone: "orange", name: `chance alone (${flips})` }] : []),
        { type: "rule", at: test.statistic, tone: "blue", name: "observed" },
      ],
    };
  });

  chart(document.getElementById("audit-curve-chart"), () => {
    const line = data.curve, beta = line.beta;
    // The bound is infinite at beta 0, so the chart shows only the part near the other lines.
    // Most of what matters happens while few people are left out.
    const top = Math.min(1, Math.max(0.3, 2 * (data.beta ?? 0)));
    const low = (list) => list.filter((_, k) => beta[k] <= top);
    const shown = domain([...[line.alpha, line.floor, line.denoised].map(low), requested ? [data.alpha] : []]);
    const layers = learned ? [] : [
      { type: "line", x: line.cap, y: beta, tone: "grey", dash: "9 3 2 3", name: `${percent(data.confidence)} bound` },
      { type: "line", x: line.floor, y: beta, tone: "orange", dash: "2 3", mark: "triangle", name: "noise alone" },
      { type: "line", x: line.denoised, y: beta, tone: "green", dash: "7 4", mark: "square", name: "without noise" },
    ];
    layers.push({ type: "line", x: line.alpha, y: beta, tone: "blue", mark: "dot", name: "observed" });
    if (requested) layers.push({ type: "marks", x: [data.alpha], y: [data.beta], mark: "cross", tone: "ink", name: "requested" });
    return {
      label: `The share of people left out against half the width of the band that holds the others: observed${learned ? "" : ", noise alone, without noise, and the bound"}.`,
      x: fromZero([shown[0], Math.max(0.02, shown[1])]), y: [-0.02 * top, top],
      xLabel: "alpha: half the width of the band (rate)", yLabel: "beta: share of people", layers,
    };
  });

  for (const box of document.querySelectorAll("[data-group]")) {
    const view = data.groups[Number(box.dataset.group)], rows = view.name.map((name) => String(name));
    const places = rows.map((_, k) => k);
    chart(box, () => ({
      label: `By ${view.attribute}: the mean rate of each group, and its lowest and highest individual rate.`,
      x: [0, Math.max(0.05, domain([view.highest, view.mean, view.high], 0.04)[1])], y: [rows.length - 0.5, -0.5],
      rows, height: 60 + 30 * rows.length, xLabel: `${data.rate} rate`,
      layers: [
        { type: "ranges", low: view.lowest, high: view.highest, tone: "orange", name: "lowest to highest individual rate" },
        { type: "rule", at: data.mean, tone: "ink", dash: "2 3", name: "mean of all people" },
        { type: "ranges", low: view.low.map((low) => low === null ? null : Math.max(0, low)), high: view.high, tone: "blue", thin: true, name: `${percent(data.confidence)} CI of the mean` },
        { type: "marks", x: view.mean, y: places, mark: "big", tone: "blue", name: "mean of the group" },
      ],
    }));
  }

  const three = (value) => (value === null ? "unknown" : written(value));
  const people = data.people, box = document.querySelector('[data-table="people"]');
  if (people.listed < people.total) {
    html("p", { class: "note" }, box, `The table lists the ${count(people.listed)} worst-off of ${count(people.total)} people, to limit the size of this file.`);
  }
  dataTable(box, [
    { key: "name", name: "person" },
    { key: "rate", name: "rate", number: true, write: three },
    ...(learned ? [] : [
      { key: "low", name: "low", number: true, write: three },
      { key: "high", name: "high", number: true, write: three },
    ]),
    { key: "tasks", name: "tasks", number: true, write: count },
    { key: "rank", name: "rank", number: true, write: (rank) => (rank === null ? "none" : count(rank)) },
    ...(learned && !requested ? [] : [
      { key: "flagged", name: learned ? "above" : "clearly above", number: true, write: (flag) => (flag ? "yes" : "no") },
    ]),
  ], people.columns, { id: "people", search: "people-search", what: "people", caption: "Individual rates" });

  dataTable(document.querySelector('[data-table="tasks"]'), [
    { key: "name", name: "task" },
    ...("family" in data.tasks.columns ? [{ key: "family", name: "family" }] : []),
    { key: "rate", name: "rate", number: true, write: three },
    { key: "people", name: "people", number: true, write: count },
    ...(learned ? [] : [{ key: "influence", name: "influence", number: true, write: (value) => written(value, 6) }]),
  ], data.tasks.columns, { id: "tasks", search: "tasks-search", what: "tasks", caption: "Tasks" });
})();
