// Draws the page of a comparison.

(() => {
  const data = JSON.parse(document.getElementById("comparison-data").textContent);
  const learned = data.learned_tasks;

  chart(document.getElementById("comparison-chart"), () => {
    const { place, before, after, people } = data.sorted;
    return {
      label: `Individual ${data.rate} rates of ${count(people)} people from best off to worst off, before and after.`,
      x: [0.5, Math.max(1.5, people + 0.5)], y: [0, Math.max(0.05, domain([before, after], 0.04)[1])],
      xLabel: "people, from best off to worst off", yLabel: `${data.rate} rate`, xWhole: true,
      layers: [
        { type: "line", x: place, y: before, tone: "orange", dash: "7 4", mark: people <= 60 ? "square" : null, name: "before" },
        { type: "line", x: place, y: after, tone: "blue", mark: people <= 60 ? "dot" : null, name: "after" },
      ],
    };
  });

  const three = (value) => (value === null ? "unknown" : written(value));
  const signed = (value) => (value === null ? "unknown" : `${value > 0 ? "+" : ""}${written(value)}`);
  const people = data.people, box = document.querySelector('[data-table="people"]');
  if (people.listed < people.total) {
    html("p", { class: "note" }, box, `The table lists ${count(people.listed)} of ${count(people.total)} people, to limit the size of this file.`);
  }
  dataTable(box, [
    { key: "name", name: "person" },
    { key: "before", name: "before", number: true, write: three },
    { key: "after", name: "after", number: true, write: three },
    { key: "difference", name: "change", number: true, write: signed },
    ...(learned ? [] : [
      { key: "low", name: "low", number: true, write: signed },
      { key: "high", name: "high", number: true, write: signed },
      { key: "clear", name: "clear" },
    ]),
  ], people.columns, { id: "people", search: "people-search", what: "people", caption: "People before and after" });
})();
