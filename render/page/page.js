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
