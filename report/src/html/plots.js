"use strict";

/** What was found over the executions of the hunt: steps, for findings come one by one. */
function findingsOverRuns(report) {
  const history = (report.history ?? []).filter((moment, at, all) => at === 0 || moment.runs >= all[at - 1].runs);
  if (history.length < 2) return null;
  const runs = history.at(-1).runs || 1;
  const most = Math.max(1, ...history.map((moment) => moment.found));
  const box = { width: 520, height: 180, left: 34, right: 12, top: 10, bottom: 26 };
  const x = (run) => box.left + (run / runs) * (box.width - box.left - box.right);
  const y = (count) => box.height - box.bottom - (count / most) * (box.height - box.top - box.bottom);
  const path = (key) => {
    let d = `M ${x(0)} ${y(0)}`;
    for (const moment of history) d += ` H ${x(moment.runs).toFixed(1)} V ${y(moment[key]).toFixed(1)}`;
    return d;
  };
  const counts = [...new Set([0, Math.ceil(most / 2), most])];
  const grid = counts.map((count) => draw("g", {},
    draw("line", { class: "grid", x1: box.left, x2: box.width - box.right, y1: y(count), y2: y(count) }),
    draw("text", { x: box.left - 8, y: y(count) + 4, "text-anchor": "end" }, String(count))));
  const ends = [[0, "start"], [runs, "end"]].map(([run, anchor]) =>
    draw("text", { x: x(run), y: box.height - 8, "text-anchor": anchor },
      run === 0 ? "0" : plural(run, "run")));
  const picture = draw("svg", { viewBox: `0 0 ${box.width} ${box.height}`, role: "img",
    "aria-label": `${plural(most, "finding")} in ${plural(runs, "run")}` }, grid, ends,
    draw("path", { class: "found", d: path("found") }),
    draw("path", { class: "confirmed", d: path("confirmed") }));
  return figure("Findings over runs", picture,
    [["found", "found"], ["confirmed", "of them confirmed"]]);
}

/** What looking on costs: executions under each technique beside those without any. */
function costs(report) {
  const all = new Map();
  for (const { technique, microseconds } of report.costs ?? []) {
    if (!all.has(technique)) all.set(technique, []);
    all.get(technique).push(microseconds);
  }
  const median = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  };
  const alone = all.has("none") ? median(all.get("none")) : 0;
  if (!alone || all.size < 2) return null;
  const bars = [...all].map(([technique, values]) => ({ technique, factor: median(values) / alone }));
  bars.sort((a, b) => a.factor - b.factor);
  const most = Math.max(...bars.map((bar) => bar.factor));
  const rows = bars.map((bar) => make("div", { class: "bar" },
    make("span", { class: "name" }, bar.technique === "none" ? "nobody looking on" : bar.technique),
    make("span", { class: "track" },
      make("i", { style: `width: ${(100 * bar.factor / most).toFixed(1)}%` })),
    make("span", { class: "value" }, `${bar.factor.toFixed(bar.factor < 10 ? 1 : 0)}×`)));
  return figure("What looking on costs", make("div", { class: "bars" }, rows), []);
}

function figure(title, picture, legend) {
  const entries = legend.map(([name, text]) => make("span", { class: `key ${name}` }, text));
  return make("figure", { class: "card" }, make("figcaption", {}, make("h3", {}, title), entries), picture);
}
