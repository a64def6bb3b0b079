// Times are shown in the zone and the words of who looks at them. Without this script they
// are those of the server.
"use strict";
for (const t of document.querySelectorAll("time")) {
  const at = new Date(t.dateTime);
  t.textContent = at.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
  t.title = t.dateTime;
}
// A table that is wider than its place can be scrolled by the keyboard.
for (const wide of document.querySelectorAll(".wide")) {
  if (wide.scrollWidth > wide.clientWidth) {
    wide.tabIndex = 0;
    wide.setAttribute("role", "region");
    const caption = wide.querySelector("caption");
    wide.setAttribute("aria-label", caption ? caption.textContent : "Table");
  }
}
