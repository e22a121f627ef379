// Draws the page of a drift.

(() => {
  const data = JSON.parse(document.getElementById("drift-data").textContent);
  const level = `${Number((100 * data.confidence).toFixed(1))}%`;
  const place = data.names.map((_, k) => k + 1);

  function overBatches(id, values, low, high, what) {
    const last = values.length - 1;
    chart(document.getElementById(id), () => ({
      label: `${what} by batch, with ${level} intervals: ${written(values[0], 3)} in ${data.names[0]}, ${written(values[last], 3)} in ${data.names[last]}.`,
      x: [0.5, data.names.length + 0.5], y: [0, Math.max(0.02, domain([high, values], 0.06)[1])],
      xLabel: "batch", xNames: data.names, yLabel: what,
      layers: [
        { type: "sticks", x: place, low: low.map((end) => end === null ? null : Math.max(0, end)), high, tone: "orange", name: `${level} CI` },
        { type: "line", x: place, y: values, tone: "blue", mark: "dot", name: what },
      ],
    }));
  }

  overBatches("drift-sigma-chart", data.sigma, data.sigma_low, data.sigma_high, "SD of true rates");
  overBatches("drift-mean-chart", data.mean, data.mean_low, data.mean_high, `mean ${data.rate} rate`);
})();
