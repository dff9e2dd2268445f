"use strict";
// Lines that belong to the same line of the source light up together: under the pointer, under the keyboard's cursor, and for
// good after a click.
(() => {
  const panes = [...document.querySelectorAll(".pane")];
  const byLine = new Map();
  for (const element of document.querySelectorAll("[data-l]")) {
    for (const line of element.dataset.l.split(" ")) {
      if (!byLine.has(line)) byLine.set(line, []);
      byLine.get(line).push(element);
    }
  }
  const linked = (element) => (element ? element.dataset.l.split(" ").flatMap((line) => byLine.get(line) || []) : []);
  let lit = [];
  let pinned = [];
  const light = (element) => {
    for (const old of lit) old.classList.remove("on");
    lit = linked(element);
    for (const one of lit) one.classList.add("on");
  };
  const shown = (pane) => pane.querySelector("ol:not([hidden])");
  const reveal = (element, all) => {
    for (const pane of panes) {
      if (pane.contains(element)) continue;
      const first = all.find((one) => shown(pane).contains(one));
      if (!first) continue;
      const list = shown(pane);
      list.scrollTop = first.offsetTop - list.offsetTop - list.clientHeight / 3;
    }
  };
  const pin = (element) => {
    for (const old of pinned) old.classList.remove("pinned");
    const same = pinned.includes(element);
    pinned = same ? [] : linked(element);
    for (const one of pinned) one.classList.add("pinned");
    if (!same) reveal(element, pinned);
  };
  const holder = (event) => event.target.closest && event.target.closest("[data-l]");
  document.addEventListener("mouseover", (event) => light(holder(event)));
  document.addEventListener("click", (event) => {
    const element = holder(event);
    if (element) pin(element);
  });
  for (const pane of panes) {
    const tabs = [...pane.querySelectorAll("[role=tab]")];
    const choose = (tab) => {
      for (const other of tabs) {
        other.setAttribute("aria-selected", String(other === tab));
        other.tabIndex = other === tab ? 0 : -1;
        document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
      }
      if (pinned.length) reveal(null, pinned);
    };
    for (const [index, tab] of tabs.entries()) {
      tab.addEventListener("click", () => choose(tab));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = tabs[(index + step + tabs.length) % tabs.length];
        next.focus();
        choose(next);
      });
    }
    for (const list of pane.querySelectorAll("ol")) {
      let at = -1;
      list.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const lines = list.children;
        if (event.key === "Enter" && lines[at] && lines[at].dataset.l) return pin(lines[at]);
        if (!step) return;
        event.preventDefault();
        at = Math.max(0, Math.min(lines.length - 1, at + step));
        lines[at].scrollIntoView({ block: "nearest" });
        light(lines[at].dataset.l ? lines[at] : null);
      });
    }
  }
})();
