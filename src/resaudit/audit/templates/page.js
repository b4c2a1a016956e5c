"use strict";
(() => {
  const form = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const claims = [...document.querySelectorAll(".claim")];
  const rows = new Map([...document.querySelectorAll("[data-claim]")].map((row) => [row.dataset.claim, row]));
  const heads = [...document.querySelectorAll("th[data-sort]")];
  const dialog = document.getElementById("enlarged");
  const filters = ["paper", "verdict", "kind", "data"];
  const texts = new Map(claims.map((claim) => [claim, `${claim.id} ${claim.textContent}`.toLowerCase()]));

  const chosen = (name) => [...form.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);

  // The fragment is either a place, #paper/claim, or a choice, #verdict=contradicted&paper=….
  const choice = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");

  function target() {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null; // a malformed hash names nothing
    }
  }

  function filter() {
    const wanted = filters.map((name) => [name, chosen(name)]).filter(([, values]) => values.length);
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const claim of claims) {
      const fits =
        wanted.every(([name, values]) => values.includes(claim.dataset[name])) &&
        words.every((word) => texts.get(claim).includes(word));
      claim.hidden = rows.get(claim.id).hidden = !fits;
      count += fits;
    }
    const all = count === claims.length;
    for (const part of document.querySelectorAll(".group, .paper, .all")) {
      part.hidden = !all && !part.querySelector(".claim:not([hidden]), [data-claim]:not([hidden])");
    }
    const summary = all ? `All ${count} claims` : `${count} of ${claims.length} claims`;
    if (shown.textContent !== summary) shown.textContent = summary;
  }

  // Claims are sorted within their paper; in the third state, none, they stand as in the paper.
  function sortBy(column, direction) {
    for (const head of heads) {
      if (head.dataset.sort === column) head.ariaSort = direction;
      else head.removeAttribute("aria-sort");
    }
    const known = heads.some((head) => head.dataset.sort === column);
    const key = (row) => row.dataset[`${column}Key`] ?? row.querySelector("th").textContent;
    const sign = direction === "descending" ? -1 : 1;
    for (const table of document.querySelectorAll(".all")) {
      const inPaper = [...rows.values()].filter((row) => row.parentNode === table);
      if (known) inPaper.sort((a, b) => sign * key(a).localeCompare(key(b), "en", { numeric: true }));
      table.append(...inPaper);
    }
  }

  function sortFurther(head) {
    const next = { null: "ascending", ascending: "descending" }[head.getAttribute("aria-sort")];
    sortBy(next && head.dataset.sort, next);
    rememberInAddress();
  }

  function enlarge(figure) {
    const card = figure.querySelector(".card");
    const box = dialog.querySelector(".scroll");
    box.setAttribute("style", card.getAttribute("style"));
    box.replaceChildren(card.querySelector("svg").cloneNode(true));
    const caption = figure.querySelector("figcaption").cloneNode(true);
    caption.querySelector("button").remove();
    dialog.querySelector("p").replaceChildren(...caption.childNodes);
    dialog.showModal();
  }

  function rememberInAddress() {
    const address = new URL(location.href);
    const choices = new URLSearchParams(filters.flatMap((name) => chosen(name).map((value) => [name, value])));
    if (form.elements.q.value) choices.set("q", form.elements.q.value);
    for (const [name, value] of whatIfs.flatMap((each) => each.address())) choices.append(name, value);
    const sorted = heads.find((head) => head.hasAttribute("aria-sort"));
    if (sorted) choices.set("sort", `${sorted.dataset.sort} ${sorted.ariaSort}`);
    address.hash = choices;
    try {
      history.replaceState(null, "", address);
    } catch {
      // A page inside another document has no address of its own.
    }
  }

  function recallFromAddress() {
    const wanted = choice();
    for (const box of form.querySelectorAll("[type=checkbox]")) {
      box.checked = wanted.getAll(box.name).includes(box.value);
    }
    form.elements.q.value = wanted.get("q") ?? "";
    if (form.elements.q.value || form.querySelector(".more :checked")) form.querySelector(".more").open = true;
    sortBy(...(wanted.get("sort") ?? "").split(" "));
    const given = {};
    for (const text of wanted.getAll("if")) {
      const [id, check, key, value] = text.split(" ");
      if (Number.isFinite(Number(value))) ((given[id] ??= {})[check] ??= {})[key] = Number(value);
    }
    for (const each of whatIfs) each.set(given[each.id] ?? {});
    filter();
  }

  function clear() {
    form.querySelectorAll("[type=checkbox]").forEach((box) => (box.checked = false));
    form.elements.q.value = "";
    filter();
  }

  function follow() {
    const there = target();
    if (!there) {
      recallFromAddress();
      const asked = whatIfs.find((each) => each.address().length);
      if (choice().size) (asked?.box ?? document.getElementById("claims")).scrollIntoView();
      return;
    }
    // To a visible place the browser has gone by itself, and the focus may be further on already.
    if (!there.closest("[hidden]")) return;
    clear();
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

  // A thumbnail is a second rendering of its drawing: made when it comes near the window, so that the page opens sooner.
  const thumbnails = new IntersectionObserver(
    (entries) => {
      for (const { target: frame, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        const drawing = document.createElementNS(frame.firstChild.namespaceURI, "use");
        drawing.setAttribute("href", `#${frame.parentNode.dataset.figure}`);
        frame.firstChild.append(drawing);
        thumbnails.unobserve(frame);
      }
    },
    { rootMargin: "50%" },
  );

  // A reader's own thresholds. As resaudit.claims.decision judges: own intervals support, shared ones contradict.
  const judgements = JSON.parse(document.getElementById("judgements").textContent);

  function regionOf({ at_least = -Infinity, at_most = Infinity, within_factor }) {
    return within_factor === undefined ? [at_least, at_most] : [1 / within_factor, within_factor];
  }

  function verdictOfChoice({ own, shared }, [least, most]) {
    const [low, high, sharedLow, sharedHigh] = [...own, ...shared].map(Number); // an infinite end is the text "Infinity"
    if (least <= low && high <= most) return "supported";
    return sharedHigh < least || most < sharedLow ? "contradicted" : "inconclusive";
  }

  function verdictOfAll(verdicts) {
    return ["contradicted", "inconclusive", "depends"].find((one) => verdicts.includes(one)) ?? "supported";
  }

  function verdictOfCheck({ check, points, spread, missing, unmeasured }, thresholds) {
    const region = regionOf({ ...check.parameters, ...thresholds });
    const lacking = missing.length || unmeasured.length || !points.length;
    const verdicts = points.map(({ choices }) => {
      const kinds = new Set(choices.map((choice) => verdictOfChoice(choice, region)));
      if (kinds.size === 1) return [...kinds][0];
      return kinds.has("inconclusive") || spread ? "inconclusive" : "depends";
    });
    return verdictOfAll(lacking ? [...verdicts, "inconclusive"] : verdicts);
  }

  // The standing of a claim at other thresholds, by check and key; those that are not given are ours.
  function judgeAgain(id, thresholds, claims = judgements) {
    const { checks, fitted } = claims[id];
    const verdict = verdictOfAll(
      Object.entries(checks).map(([name, check]) => verdictOfCheck(check, thresholds[name])),
    );
    return fitted && verdict === "supported" ? "fitted" : verdict;
  }

  class WhatIf {
    constructor(box) {
      this.id = box.dataset.if;
      this.box = box;
      this.fields = [...box.querySelectorAll("[type=number]")];
      for (const field of this.fields) {
        const slider = field.closest("p").querySelector("[type=range]");
        field.addEventListener("input", () => (this.slide(field, slider), this.judge(), rememberInAddress()));
        slider.addEventListener("input", () => {
          field.value = Number(this.atPlace(field, slider.value / 1000).toPrecision(4));
          this.judge();
          rememberInAddress();
        });
      }
      box.querySelector(".back").addEventListener("click", () => (this.set({}), rememberInAddress()));
      box.hidden = false;
    }

    check = (field) => judgements[this.id].checks[field.dataset.check];
    ours = (field) => this.check(field).check.parameters[field.dataset.key];

    // The range of a slider: all finite ends and our threshold, with a margin.
    range(field) {
      const { points, scale } = this.check(field);
      const ends = points.flatMap(({ choices }) => choices.flatMap(({ own, shared }) => [...own, ...shared]));
      const within = field.dataset.key === "within_factor";
      let values = [this.ours(field), ...ends].filter((value) => Number.isFinite(value));
      if (within) values = values.filter((value) => value > 0).map((value) => Math.max(value, 1 / value));
      const scaled = scale === "log" || within;
      if (scaled) values = values.filter((value) => value > 0).map(Math.log);
      let [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
      const margin = (high - low) / 20 || Math.abs(high) / 2 || 1;
      [low, high] = [within ? 1e-6 : low - margin, high + margin];
      return { low, high, scaled };
    }

    atPlace(field, share) {
      const { low, high, scaled } = this.range(field);
      const value = low + share * (high - low);
      return scaled ? Math.exp(value) : value;
    }

    slide(field, slider) {
      const { low, high, scaled } = this.range(field);
      const value = scaled ? Math.log(field.valueAsNumber) : field.valueAsNumber;
      slider.value = Number.isFinite(value) ? (1000 * (value - low)) / (high - low) : 0;
    }

    set(thresholds) {
      for (const field of this.fields) {
        const given = thresholds[field.dataset.check]?.[field.dataset.key];
        field.value = given ?? this.ours(field);
        this.slide(field, field.closest("p").querySelector("[type=range]"));
      }
      if (Object.keys(thresholds).length) this.box.open = true;
      this.judge();
    }

    changed() {
      return this.fields.filter((field) => field.value !== "" && field.valueAsNumber !== this.ours(field));
    }

    judge() {
      const thresholds = {};
      for (const field of this.changed()) {
        (thresholds[field.dataset.check] ??= {})[field.dataset.key] = field.valueAsNumber;
      }
      const wrong = this.fields.find((field) => field.dataset.key === "within_factor" && !(field.valueAsNumber > 1));
      let words = "At our thresholds, this is the audit's verdict.";
      if (this.changed().length) words = `Yours, not the audit's: ${judgeAgain(this.id, thresholds)}.`;
      if (wrong) words = "A factor is above 1.";
      this.box.querySelector(".yours").textContent = words;
    }

    address() {
      return this.changed().map(({ dataset, value }) => ["if", `${this.id} ${dataset.check} ${dataset.key} ${value}`]);
    }
  }

  const whatIfs = [...document.querySelectorAll(".what-if")].map((box) => new WhatIf(box));

  form.hidden = false;
  form.addEventListener("input", () => (filter(), rememberInAddress()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => (event.preventDefault(), clear(), rememberInAddress()));
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    const figure = document.getElementById(link.dataset.figure)?.closest("figure");
    if (figure) enlarge(figure);
    else if (link.hash === location.hash) follow();
    if (figure) event.preventDefault();
  });
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
  for (const head of heads) {
    const button = document.createElement("button");
    button.className = "sort";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortFurther(head));
    head.replaceChildren(button);
  }
  for (const frame of document.querySelectorAll(".frame")) {
    frame.hidden = false;
    thumbnails.observe(frame);
  }
  for (const figure of document.querySelectorAll("figure")) {
    figure.classList.add("zoomable");
    figure.querySelector(".enlarge").hidden = false;
    for (const part of figure.querySelectorAll(".enlarge, .card")) part.addEventListener("click", () => enlarge(figure));
  }
  dialog.addEventListener("click", (event) => event.target.closest(".scroll") || dialog.close());
  document.querySelectorAll(".scroll").forEach((box) => boxes.observe(box));
  recallFromAddress();
  if (location.hash) follow();
  globalThis.judgeAgain = judgeAgain;
})();
