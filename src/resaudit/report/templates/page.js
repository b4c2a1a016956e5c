"use strict";
(() => {
  const form = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const claims = [...document.querySelectorAll(".claim")];
  const rows = new Map([...document.querySelectorAll("[data-claim]")].map((row) => [row.dataset.claim, row]));
  const texts = new Map(claims.map((claim) => [claim, `${claim.id} ${claim.textContent}`.toLowerCase()]));

  const chosen = (name) => [...form.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);

  function target() {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null; // a malformed hash names nothing
    }
  }

  function filter() {
    const papers = chosen("paper");
    const verdicts = chosen("verdict");
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const claim of claims) {
      const fits =
        (!papers.length || papers.includes(claim.dataset.paper)) &&
        (!verdicts.length || verdicts.includes(claim.dataset.verdict)) &&
        words.every((word) => texts.get(claim).includes(word));
      claim.hidden = rows.get(claim.id).hidden = !fits;
      count += fits;
    }
    const all = count === claims.length;
    for (const part of document.querySelectorAll(".group, .paper, .all tbody")) {
      part.hidden = !all && !part.querySelector(".claim:not([hidden]), tr[data-claim]:not([hidden])");
    }
    const summary = all ? `All ${count} claims are shown.` : `${count} of ${claims.length} claims are shown.`;
    if (shown.textContent !== summary) shown.textContent = summary;
  }

  function rememberInAddress() {
    const address = new URL(location.href);
    address.search = "";
    for (const name of ["paper", "verdict"]) {
      for (const value of chosen(name)) address.searchParams.append(name, value);
    }
    if (form.elements.q.value) address.searchParams.set("q", form.elements.q.value);
    if (target()?.closest("[hidden]")) address.hash = "";
    try {
      history.replaceState(null, "", address);
    } catch {
      // A page inside another document has no address of its own.
    }
  }

  function recallFromAddress() {
    const wanted = new URL(location.href).searchParams;
    for (const box of form.querySelectorAll("[type=checkbox]")) {
      box.checked = wanted.getAll(box.name).includes(box.value);
    }
    form.elements.q.value = wanted.get("q") ?? "";
  }

  function clear() {
    form.querySelectorAll("[type=checkbox]").forEach((box) => (box.checked = false));
    form.elements.q.value = "";
    filter();
    rememberInAddress();
  }

  function reveal() {
    const there = target();
    if (!there) return;
    if (there.closest("[hidden]")) clear();
    there.scrollIntoView();
    there.focus({ preventScroll: true });
  }

  async function copy(button) {
    const label = button.firstChild;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      label.data = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      label.data = "Selected";
    }
    setTimeout(() => (label.data = "Copy"), 2000);
  }

  // A box that does not scroll is no stop on the keyboard's way.
  const boxes = new ResizeObserver((entries) => {
    for (const { target: box } of entries) {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });

  form.hidden = false;
  form.addEventListener("input", () => (filter(), rememberInAddress()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => (event.preventDefault(), clear()));
  addEventListener("hashchange", reveal);
  addEventListener("popstate", () => (recallFromAddress(), filter()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) reveal();
  });
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
  document.querySelectorAll(".scroll").forEach((box) => boxes.observe(box));
  recallFromAddress();
  filter();
  if (location.hash) reveal();
})();
