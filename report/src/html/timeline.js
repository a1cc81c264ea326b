"use strict";

/** An interleaving to step through: a lane for each thread, time goes down, and who holds
 *  which locks at every moment. */
class Timeline {
  constructor(interleaving) {
    this.steps = interleaving.steps;
    this.skipped = interleaving.skipped;
    this.threads = [...new Set(this.steps.map((step) => step.thread))].sort(byCreation);
    this.locks = [...new Set(this.steps.flatMap((step) => step.locks ?? []))].sort();
    // It opens where the finding happens.
    const marks = this.steps.map((step, at) => (step.access ? at : -1)).filter((at) => at >= 0);
    this.first = marks[0] ?? this.steps.length - 1;
    this.element = this.build();
    this.go(this.first);
    // Once it is in the page, there is something to scroll.
    queueMicrotask(() => this.go(this.at));
  }

  build() {
    const button = (label, name, to) =>
      make("button", { type: "button", title: name, "aria-label": name, onclick: () => this.go(to()) }, label);
    this.counter = make("output", { class: "counter" });
    const controls = make("div", { class: "controls" },
      button("|◀", "First step (Home)", () => 0),
      button("◀", "Step back (←)", () => this.at - 1),
      button("▶", "Step on (→)", () => this.at + 1),
      button("▶|", "Last step (End)", () => this.steps.length - 1),
      button("◎", "Where it happens (Enter)", () => this.nextMark()),
      this.counter,
      make("span", { class: "hint" }, "← → step · Enter: where it happens"));

    this.rows = this.steps.map((step, at) => this.row(step, at));
    const head = make("div", { class: "lanes head" },
      this.threads.map((thread) => make("div", { class: "lane" }, threadName(thread))));
    const skipped = this.skipped
      ? make("div", { class: "skipped" }, `⋮ ${plural(this.skipped, "earlier step")} not shown`)
      : null;
    this.list = make("div", { class: "steps", tabindex: 0, role: "listbox",
      "aria-label": "Steps of the execution", onkeydown: (event) => this.key(event) }, skipped, this.rows);
    this.holding = make("div", { class: "holding" });
    this.line = make("div", { class: "now" });
    const element = make("div", { class: "timeline" },
      controls, make("div", { class: "stage" },
        make("div", { class: "track" }, head, this.list),
        make("aside", { class: "state", "aria-live": "polite" }, this.line, this.holding)));
    element.style.setProperty("--lanes", this.threads.length);
    return element;
  }

  row(step, at) {
    const lane = this.threads.indexOf(step.thread);
    const mark = step.access ? make("b", { class: "mark" }, String(step.access)) : null;
    const place = step.line ? make("span", { class: "line" }, `:${step.line}`) : null;
    const cell = make("div", { class: `cell ${this.sort(step)}`, style: `grid-column: ${lane + 1}` },
      mark, make("span", { class: "deed" }, step.deed), place);
    return make("div", { class: "lanes row", role: "option", "aria-selected": "false",
      onclick: () => { this.go(at); this.list.focus({ preventScroll: true }); } }, cell);
  }

  sort(step) {
    if (step.access) return "marked";
    if (["acquire", "release"].includes(step.op)) return step.op;
    if (["read", "write"].includes(step.op) || step.op.startsWith("atomic")) return "access";
    return "order";
  }

  nextMark() {
    const after = this.steps.findIndex((step, at) => at > this.at && step.access);
    return after >= 0 ? after : this.first;
  }

  key(event) {
    const keys = {
      ArrowRight: () => this.at + 1, ArrowDown: () => this.at + 1, j: () => this.at + 1,
      ArrowLeft: () => this.at - 1, ArrowUp: () => this.at - 1, k: () => this.at - 1,
      PageDown: () => this.at + 10, PageUp: () => this.at - 10,
      Home: () => 0, End: () => this.steps.length - 1, Enter: () => this.nextMark(),
    };
    const to = event.ctrlKey || event.altKey || event.metaKey ? undefined : keys[event.key];
    if (!to) return;
    event.preventDefault();
    this.go(to());
  }

  /** Moves to a step: what comes after has not happened yet. */
  go(to) {
    this.at = Math.max(0, Math.min(this.steps.length - 1, to));
    this.rows.forEach((row, at) => {
      row.classList.toggle("current", at === this.at);
      row.classList.toggle("future", at > this.at);
      row.setAttribute("aria-selected", String(at === this.at));
    });
    const row = this.rows[this.at];
    this.list.scrollTop = row.offsetTop - this.list.clientHeight / 2;
    this.counter.textContent = `step ${this.at + 1} of ${this.steps.length}`;
    this.tell();
  }

  /** Who does what, and who holds which locks now. */
  tell() {
    const step = this.steps[this.at];
    const place = step.file ? `${step.file.split("/").pop()}:${step.line ?? "?"}` : "";
    this.line.replaceChildren(...[
      make("h4", {}, threadName(step.thread), " ", make("span", {}, step.deed)),
      place ? make("p", { class: "place" }, step.function ? `${place} in ${step.function}` : place) : null,
      step.text ? make("pre", {}, step.text) : null,
    ].filter(Boolean));
    const held = new Map();
    for (const past of this.steps.slice(0, this.at + 1)) held.set(past.thread, past.locks ?? []);
    const holders = this.threads.map((thread) => {
      const locks = held.get(thread) ?? [];
      const chips = locks.length
        ? locks.map((lock) => make("span", { class: "lock", style: this.colour(lock) }, lock))
        : [make("span", { class: "none" }, "no lock")];
      return make("div", { class: thread === step.thread ? "holder current" : "holder" },
        make("span", { class: "who" }, threadName(thread)), make("span", { class: "locks" }, chips));
    });
    this.holding.replaceChildren(make("h5", {}, "Who holds what"), ...holders);
  }

  colour(lock) {
    const hue = (this.locks.indexOf(lock) * 137 + 210) % 360;
    return `--hue: ${hue}`;
  }
}
