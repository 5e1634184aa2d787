// A click makes a function as wide as the page, and hides what stands beside it; a search lights functions up.
"use strict";
const flame = document.getElementById("flame"), search = document.getElementById("search"), found = document.getElementById("found");
const nodes = [...flame.querySelectorAll(".n")], all = Number(nodes[0].dataset.n);
flame.addEventListener("click", (e) => {
  const button = e.target.closest("button");
  if (!button) return;
  for (const n of nodes) n.classList.remove("above", "away", "self");
  for (let n = button.parentElement; n !== nodes[0].parentElement; n = n.parentElement) {
    if (!n.classList.contains("n")) continue;
    n.classList.add(n === button.parentElement ? "self" : "above");
    for (const other of n.parentElement.children) if (other !== n && other.classList.contains("n")) other.classList.add("away");
  }
});
search.addEventListener("input", () => {
  const text = search.value.toLowerCase();
  flame.classList.toggle("searched", text !== "");
  let count = 0, hits = 0;
  for (const n of nodes) {
    const hit = text !== "" && n.firstElementChild.textContent.toLowerCase().includes(text);
    n.firstElementChild.classList.toggle("hit", hit);
    if (hit) hits++;
    if (hit && !n.parentElement.closest(".n > button.hit ~ div")) count += Number(n.dataset.n);
  }
  found.value = text === "" ? "" : all === 0 ? `${hits} found` : `${count} of ${all}, ${(100 * count / all).toFixed(1)} %`;
});
