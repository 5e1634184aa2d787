// A frame and its words on the stack light up together.
"use strict";
for (const thread of document.querySelectorAll(".thread")) {
  const light = (frame, on) => {
    for (const e of thread.querySelectorAll(`[data-frame="${frame}"]`)) e.classList.toggle("lit", on);
  };
  for (const [enter, leave] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    thread.addEventListener(enter, (e) => { const t = e.target.closest("[data-frame]"); if (t) light(t.dataset.frame, true); });
    thread.addEventListener(leave, (e) => { const t = e.target.closest("[data-frame]"); if (t) light(t.dataset.frame, false); });
  }
}

// A search shows the threads that have what is looked for, and marks the frames. The threads that are shown are copied as text.
const threads = [...document.querySelectorAll(".thread")];
const seen = (e) => e === null ? "" : e.textContent.trim();
const frameText = (f) => ["#" + seen(f.querySelector(".n")).padEnd(3), seen(f.querySelector("dd.hex")), seen(f.querySelector(".name")).padEnd(24),
  seen(f.querySelector(".place")), seen(f.querySelector(".trust"))].join(" ").trimEnd();
const threadText = (t) => [seen(t.querySelector("h2")), ...[...t.querySelectorAll(".frames > .frame, .frames > .stop")].map((e) => e.matches(".frame") ? frameText(e) : "    " + seen(e))].join("\n");
if (threads.length > 0) {
  const tools = document.createElement("div"), search = document.createElement("input"), copy = document.createElement("button"), found = document.createElement("output");
  tools.className = "tools";
  search.type = "search"; search.placeholder = "find a function, file or address"; search.setAttribute("aria-label", search.placeholder);
  copy.type = "button"; copy.textContent = "copy as text";
  tools.append(search, copy, found);
  document.querySelector("header").after(tools);
  const open = new Map(threads.map((t) => [t, t.open]));
  search.addEventListener("input", () => {
    const text = search.value.trim().toLowerCase();
    let hits = 0, shown = 0;
    for (const t of threads) {
      let has = text === "" || seen(t.querySelector("summary")).toLowerCase().includes(text);
      for (const f of t.querySelectorAll(".frame")) {
        const hit = text !== "" && frameText(f).toLowerCase().includes(text);
        f.classList.toggle("hit", hit);
        if (hit) { hits++; has = true; }
      }
      t.classList.toggle("away", !has);
      t.open = text === "" ? open.get(t) : has;
      if (has) shown++;
    }
    found.value = text === "" ? "" : `${hits} frames, ${shown} of ${threads.length} threads`;
  });
  copy.addEventListener("click", async () => {
    const reasons = [...document.querySelectorAll(".reason")].map(seen);
    const text = [...reasons, ...threads.filter((t) => !t.classList.contains("away")).map(threadText)].join("\n") + "\n";
    try {
      await navigator.clipboard.writeText(text);
      found.value = "copied";
    } catch {
      const all = document.createElement("textarea");
      all.value = text; tools.after(all); all.select();
      found.value = "press Ctrl+C";
    }
  });
}
