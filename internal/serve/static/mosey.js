// Times are ISO dates in the reader's zone, which the footer names. Without this script they are in UTC.
"use strict";
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const two = (n) => String(n).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
const stamp = (at) => day(at) + " " + clock(at);
document.querySelector("#zone").textContent = zone;
function local(text) {
  return text.replace(/\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC\b/g, (utc, date, time) => {
    const at = new Date(`${date}T${time}Z`);
    return isNaN(at) ? utc : stamp(at);
  });
}
function localize(root) {
  for (const tick of root.querySelectorAll("[data-time]")) {
    const at = new Date(tick.dataset.time), shown = tick.textContent;
    tick.textContent = !shown.includes(":") ? day(at).slice(10 - shown.length) : clock(at).slice(0, shown.length);
  }
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.parentElement.closest(".url, .file, textarea")) text.nodeValue = local(text.nodeValue);
  }
}
localize(document.querySelector("main"));

// "/" goes to the search, and the arrow keys from one result to the next.
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
  const results = [...document.querySelectorAll(".results h2 a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (e.key === "/") document.querySelector("input[type=search]").focus();
  else if (step && results.length) results[Math.max(results.indexOf(document.activeElement) + step, 0)]?.focus();
  else return;
  e.preventDefault();
});

// A table that is wider than its place can be scrolled by the keyboard.
for (const wide of document.querySelectorAll(".wide")) {
  if (wide.scrollWidth > wide.clientWidth) {
    wide.tabIndex = 0;
    if (wide.querySelector(".chart")) wide.scrollLeft = wide.scrollWidth; // to what is new
    wide.setAttribute("role", "region");
    const caption = wide.querySelector("caption");
    const section = wide.closest("section");
    const heading = section ? section.querySelector("h2").textContent + ": " : "";
    wide.setAttribute("aria-label", caption ? caption.textContent : heading + (wide.querySelector("svg") ? "chart" : "table"));
  }
}

// What is new is told by the server. A number is at the path that data-live names.
function value(of, path) {
  return path.split(".").reduce((v, name) => (v === undefined || v === null ? undefined : v[name]), of);
}
function update(page) {
  document.querySelector(".sentence").textContent = local(page.sentence);
  const notice = document.querySelector(".notice");
  notice.hidden = !page.notice;
  notice.textContent = page.notice;
  for (const at of document.querySelectorAll("[data-live]")) {
    const v = value(page, at.dataset.live);
    if (v !== undefined) at.textContent = Number.isInteger(v) ? String(v).replace(/\B(?=(\d{3})+$)/g, "\u2009") : v;
  }
}

// Attempts are added above the others, unless they are held.
const table = document.querySelector("#live tbody");
let held = null; // those that wait while they are held
function add(attempts) {
  for (const a of attempts.toReversed()) {
    if (table.querySelector(`tr[data-id="${Number(a.id)}"]`)) continue;
    const row = table.insertRow(0);
    row.dataset.id = a.id;
    const time = document.createElement("time");
    time.dateTime = a.completed_at;
    time.textContent = stamp(new Date(a.completed_at));
    row.insertCell().append(time);
    row.insertCell().textContent = a.run;
    row.insertCell().textContent = a.text;
    const link = document.createElement("a");
    link.href = "/url?u=" + encodeURIComponent(a.url);
    link.textContent = a.url;
    const cell = row.insertCell();
    cell.className = "url";
    cell.append(link);
    row.insertCell().textContent = a.error || "";
  }
  while (table.rows.length > 500) table.deleteRow(-1);
}
function show(attempts) {
  if (held === null) return add(attempts);
  const known = new Set(held.map((a) => a.id));
  held = attempts.filter((a) => !known.has(a.id) && !table.querySelector(`tr[data-id="${Number(a.id)}"]`)).concat(held).slice(0, 500);
  document.querySelector("#held").textContent = held.length + " new attempts";
}
const hold = document.querySelector("#hold");
if (hold) {
  hold.hidden = false;
  hold.addEventListener("click", () => {
    if (held === null) {
      held = [];
      hold.textContent = "Resume";
      return;
    }
    const waited = held;
    held = null;
    hold.textContent = "Pause";
    document.querySelector("#held").textContent = "";
    add(waited);
  });
}

// Charts are drawn by the server: those of this page are replaced while somebody looks at them.
const redrawInterval = 15_000;
function redraw() {
  if (document.hidden || document.querySelector(".chart :hover")) return Promise.resolve();
  return new Promise((done) => {
    const request = new XMLHttpRequest(); // parses the page, which trusted types forbid to scripts
    request.responseType = "document";
    request.onloadend = () => {
      if (request.status === 200) replaceCharts(request.response);
      done(); // without a page the next one may come
    };
    request.open("GET", location.href);
    request.send();
  });
}
function replaceCharts(page) {
  const charts = document.querySelectorAll(".chart"), drawn = [...page.querySelectorAll(".chart")];
  if (charts.length !== drawn.length) return;
  charts.forEach((chart, i) => {
    localize(drawn[i]);
    chart.replaceWith(document.adoptNode(drawn[i]));
  });
}
if (document.querySelector(".chart")) setInterval(redraw, redrawInterval);

const events = document.body.dataset.events;
if (events) {
  const source = new EventSource(events);
  source.onmessage = (e) => {
    const page = JSON.parse(e.data);
    update(page);
    if (table && page.attempts) show(page.attempts);
  };
}
