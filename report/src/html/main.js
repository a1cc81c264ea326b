"use strict";

const report = JSON.parse(document.getElementById("report").textContent);
const findings = [...report.findings, ...report.suppressed];
const STATUS = ["confirmed", "observed", "predicted", "unreproduced"];
const choice = { text: "", status: new Set(), kind: "", suppressed: false, sort: "report" };

/** What is chosen by the filters, in the chosen order. */
function chosen() {
  const words = choice.text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (finding) => {
    const text = [finding.id, finding.what, finding.status, finding.harm?.kind, ...finding.found_by,
      ...finding.accesses.flatMap((access) => [access.position, access.function])].join(" ").toLowerCase();
    return words.every((word) => text.includes(word))
      && (choice.status.size === 0 || choice.status.has(finding.status))
      && (!choice.kind || finding.kind === choice.kind)
      && (choice.suppressed || !finding.suppression);
  };
  const place = (finding) => finding.accesses[0]?.position ?? "~";
  const order = {
    report: () => 0,
    status: (a, b) => STATUS.indexOf(a.status) - STATUS.indexOf(b.status),
    kind: (a, b) => a.kind.localeCompare(b.kind),
    place: (a, b) => place(a).localeCompare(place(b), "en", { numeric: true }),
    run: (a, b) => a.first_run - b.first_run,
  };
  return findings.filter(matches).sort(order[choice.sort]);
}

function masthead() {
  const count = (status) => report.findings.filter((finding) => finding.status === status).length;
  const tiles = STATUS.filter((status) => count(status) || status === "confirmed").map((status) =>
    make("div", { class: `tile ${status}` }, make("b", {}, String(count(status))), make("span", {}, status)));
  if (report.suppressed.length) {
    tiles.push(make("div", { class: "tile" }, make("b", {}, String(report.suppressed.length)),
      make("span", {}, "suppressed")));
  }
  const facts = [plural(report.runs, "run")];
  if (report.seed !== null && report.seed !== undefined) facts.push(`seed ${report.seed}`);
  const last = (report.history ?? []).at(-1);
  if (last) facts.push(`${(last.milliseconds / 1000).toFixed(1)} s`);
  return make("header", { class: "masthead" },
    make("div", { class: "brand" },
      make("h1", {}, "Racehound"),
      make("p", {}, make("code", {}, report.program.join(" ")), make("span", { class: "facts" }, facts.join(" · ")))),
    make("div", { class: "tiles" }, tiles),
    themeToggle());
}

function themeToggle() {
  const root = document.documentElement;
  const remembered = (() => { try { return localStorage.getItem("racehound-theme"); } catch { return null; } })();
  if (remembered) root.dataset.theme = remembered;
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = make("button", { type: "button", class: "theme", "aria-label": "Light or dark", title: "Light or dark (t)",
    onclick: () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("racehound-theme", root.dataset.theme); } catch { /* Not to be remembered then. */ }
    } }, "◐");
  return button;
}

function filters(update) {
  const search = make("input", { type: "search", placeholder: "Filter: a variable, function, file…", "aria-label": "Filter",
    oninput: (event) => { choice.text = event.target.value; update(); } });
  const known = STATUS.filter((status) => findings.some((finding) => finding.status === status));
  const statuses = known.map((status) => make("button", { type: "button", class: `chip ${status}`, "aria-pressed": "false",
    onclick: (event) => {
      const on = !choice.status.delete(status);
      if (on) choice.status.add(status);
      event.target.setAttribute("aria-pressed", String(on));
      update();
    } }, status));
  const kinds = [...new Set(findings.map((finding) => finding.kind))].sort();
  const kind = make("select", { "aria-label": "Kind", onchange: (event) => { choice.kind = event.target.value; update(); } },
    make("option", { value: "" }, "all kinds"), kinds.map((name) => make("option", { value: name }, name)));
  const sort = make("select", { "aria-label": "Order", onchange: (event) => { choice.sort = event.target.value; update(); } },
    [["report", "by harm"], ["status", "by certainty"], ["kind", "by kind"], ["place", "by place"], ["run", "by first run"]]
      .map(([value, text]) => make("option", { value }, text)));
  const suppressed = report.suppressed.length
    ? make("label", { class: "check" }, make("input", { type: "checkbox",
        onchange: (event) => { choice.suppressed = event.target.checked; update(); } }), "suppressed")
    : null;
  return make("div", { class: "filters" }, search, make("div", { class: "chips" }, statuses),
    kinds.length > 1 ? kind : null, sort, suppressed);
}

function source(access) {
  if (!access.source) return null;
  const lines = access.source.lines.map((text, at) => {
    const number = access.source.first + at;
    const here = number === access.line;
    return make("div", { class: here ? "code here" : "code" },
      make("span", { class: "number" }, String(number)), make("span", { class: "text" }, text || " "));
  });
  return make("div", { class: "source" }, lines);
}

function accessCard(access, at) {
  const frames = access.callers.slice(0, 8).map((frame) => make("li", {}, make("code", {}, frame.function),
    frame.file ? make("span", {}, ` ${frame.file.split("/").pop()}:${frame.line ?? "?"}`) : null));
  return make("section", { class: "access" },
    make("h4", {}, make("b", { class: "mark" }, String(at + 1)), access.deed),
    make("p", { class: "place" }, access.position, access.function ? ` in ${access.function}` : null),
    source(access),
    frames.length ? make("details", {}, make("summary", {}, "called from"), make("ol", {}, frames)) : null);
}

function details(finding) {
  const body = make("div", { class: "body" });
  const harms = finding.harms?.length ? finding.harms : finding.harm ? [finding.harm] : [];
  for (const harm of harms) {
    body.append(make("p", { class: "harm" }, make("b", {}, harm.kind), ` ${harm.detail}`));
  }
  if (finding.suppression) {
    body.append(make("p", { class: "note" }, `Suppressed: ${finding.suppression.reason}`,
      finding.suppression.date ? ` (${finding.suppression.date})` : null));
  }
  if (finding.accesses.length) {
    body.append(make("div", { class: "accesses" }, finding.accesses.map(accessCard)));
  }
  if (finding.interleaving?.steps?.length) {
    body.append(make("h3", {}, "How it happens"), new Timeline(finding.interleaving).element);
  }
  const reasons = finding.why.map(([by, because]) => make("li", {}, because, make("span", { class: "by" }, ` ${by}`)));
  body.append(make("div", { class: "why" },
    make("div", {}, make("h3", {}, "Why it is suspected"),
      reasons.length ? make("ul", {}, reasons) : make("p", {}, `Found by ${finding.found_by.join(", ")}.`)),
    make("div", {}, make("h3", {}, "What to do"), make("p", {}, finding.rule.summary, " ", finding.rule.help))));
  if (finding.replay) {
    const button = make("button", { type: "button", onclick: async () => {
      try { await navigator.clipboard.writeText(finding.replay); button.textContent = "copied"; } catch { /* It can be selected. */ }
    } }, "copy");
    body.append(make("p", { class: "replay" }, make("span", {}, "replay"), make("code", {}, finding.replay), button));
  }
  return body;
}

function card(finding) {
  const places = [...new Set(finding.accesses.map((access) => access.position))].join(" · ");
  const tags = [finding.harm ? make("span", { class: "tag harmful" }, finding.harm.kind) : null,
    finding.baseline ? make("span", { class: "tag" }, finding.baseline === "new" ? "new" : "known") : null,
    finding.suppression ? make("span", { class: "tag" }, "suppressed") : null];
  const summary = make("summary", {},
    make("span", { class: "id" }, finding.id),
    make("span", { class: "what" }, make("b", {}, finding.what), make("span", { class: "place" }, places)),
    make("span", { class: "tags" }, tags, make("span", { class: `tag ${finding.status}` }, finding.status)));
  const element = make("details", { class: `card finding ${finding.status}`, id: finding.id }, summary);
  // What nobody looks at need not be made.
  element.addEventListener("toggle", () => {
    if (element.open && !element.querySelector(".body")) element.append(details(finding));
  });
  return element;
}

function main() {
  const cards = new Map(findings.map((finding) => [finding, card(finding)]));
  const list = make("div", { class: "list" });
  const nothing = make("p", { class: "nothing" });
  const update = () => {
    const shown = chosen();
    list.replaceChildren(...shown.map((finding) => cards.get(finding)));
    nothing.textContent = findings.length ? "Nothing fits the filter." : "Nothing was found.";
    nothing.hidden = shown.length > 0;
  };
  const plots = [findingsOverRuns(report), costs(report)].filter(Boolean);
  document.getElementById("page").append(masthead(),
    findings.length ? filters(update) : make("div"), make("main", {}, list, nothing),
    plots.length ? make("section", { class: "plots" }, plots) : make("div"),
    make("footer", {}, `Racehound ${report.racehound}`));
  update();
  const open = cards.get(findings.find((finding) => `#${finding.id}` === location.hash) ?? chosen()[0]);
  if (open) {
    open.open = true;
    open.append(details([...cards].find(([, element]) => element === open)[0]));
  }
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { event.preventDefault(); document.querySelector(".filters input").focus(); }
    if (event.key === "t") document.querySelector(".theme").click();
  });
  document.documentElement.dataset.state = "ready";
}

main();
