"use strict";

// Whatever goes wrong is to be seen.
window.addEventListener("error", (event) => {
  const trouble = document.getElementById("trouble");
  trouble.hidden = false;
  trouble.textContent = `This page has failed: ${event.message}`;
  document.documentElement.dataset.state = "failed";
});

/** An element with attributes and children; strings become text, and never markup. */
function make(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

/** The same for drawings. */
function draw(name, attributes = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Threads in the order of their creation: 0, 0.1, 0.2, 0.10. */
function byCreation(a, b) {
  const [left, right] = [a, b].map((path) => path.split(".").map(Number));
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? -1) - (right[i] ?? -1);
    if (difference) return difference;
  }
  return 0;
}

const threadName = (path) => (path === "0" ? "main" : `thread ${path}`);
