// Keys: / goes to the search, j and k go through the rows of a list, Enter follows the row that is lit.
"use strict";
let at = -1;
const rows = () => [...document.querySelectorAll(".list tbody tr")].filter((r) => r.querySelector("a"));
const elsewhere = (e) => e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select");
document.addEventListener("keydown", (e) => {
  if (elsewhere(e)) return;
  if (e.key === "/") {
    e.preventDefault(); // the browser's own search
  } else if (e.key === "j" || e.key === "k") {
    const list = rows();
    if (list.length === 0) return;
    at = Math.min(list.length - 1, Math.max(0, at + (e.key === "j" ? 1 : -1)));
    for (const [i, r] of list.entries()) r.classList.toggle("at", i === at);
    list[at].querySelector("a").focus();
  }
});
document.addEventListener("keyup", (e) => {
  if (e.key === "/" && !elsewhere(e)) document.getElementById("find")?.focus();
});
// At most two reports are compared.
document.addEventListener("change", (e) => {
  if (!e.target.matches(".pick input")) return;
  const picked = [...e.target.form.querySelectorAll(".pick input:checked")];
  if (picked.length > 2) picked.find((p) => p !== e.target).checked = false;
});
