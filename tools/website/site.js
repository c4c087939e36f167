// The search: sections of all pages that have every word, the best first. The index comes as a script when the field is
// first used, which works for files too.
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const place = document.getElementById("search");
  const field = document.createElement("input");
  Object.assign(field, {type: "search", placeholder: "Search ( / )", autocomplete: "off", spellcheck: false});
  field.setAttribute("aria-label", "Search all pages");
  field.setAttribute("aria-controls", "found");
  const found = document.createElement("div");
  found.id = "found";
  found.hidden = true;
  const count = document.createElement("p");
  count.setAttribute("role", "status");
  const list = document.createElement("ol");
  found.append(count, list);
  place.setAttribute("role", "search");
  place.append(field, found);
  const kShown = 30;

  function load() {
    if (window.heedIndex || document.getElementById("index")) {
      return;
    }
    const script = document.createElement("script");
    script.id = "index";
    script.src = root + "search-index.js";
    script.onload = show;
    document.head.append(script);
  }

  // Names weigh more than text, whole words more than parts.
  function weight(section, words) {
    const title = section[2].toLowerCase();
    const text = section[3].toLowerCase();
    const page = window.heedIndex.pages[section[0]][1].toLowerCase();
    let sum = 0;
    for (const word of words) {
      const whole = new RegExp("(^|[^\\p{L}\\p{N}_])" + word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "($|[^\\p{L}\\p{N}_])", "u");
      const here = (title === word ? 40 : whole.test(title) ? 20 : title.includes(word) ? 10 : 0) +
          (whole.test(text) ? 4 : text.includes(word) ? 2 : 0) +
          (whole.test(page) ? 6 : page.includes(word) ? 1 : 0);
      if (here === 0) {
        return 0;
      }
      sum += here;
    }
    return sum;
  }

  function search(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) {
      return [];
    }
    return window.heedIndex.sections.map((section) => ({section, words, weight: weight(section, words)}))
        .filter((one) => one.weight > 0).sort((a, b) => b.weight - a.weight);
  }

  window.heedSearch = search;

  // The text around the first word, with all words marked.
  function excerpt(text, words) {
    const lower = text.toLowerCase();
    const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), text.length);
    const begin = first === text.length ? 0 : Math.max(0, text.lastIndexOf(" ", Math.max(0, first - 50)) + 1);
    const shown = text.slice(begin, begin + 170);
    const made = document.createElement("span");
    let end = 0;
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    for (const match of shown.matchAll(new RegExp(escaped.join("|"), "giu"))) {
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      made.append(shown.slice(end, match.index), mark);
      end = match.index + match[0].length;
    }
    made.append(shown.slice(end));
    return made;
  }

  function entry({section, words}) {
    const [address, title] = window.heedIndex.pages[section[0]];
    const link = document.createElement("a");
    link.href = root + address + (section[1] ? "#" + section[1] : "");
    const name = document.createElement("strong");
    name.textContent = section[1] ? `${title}: ${section[2]}` : title;
    link.append(name, excerpt(section[3], words));
    const item = document.createElement("li");
    item.append(link);
    return item;
  }

  function show() {
    if (!window.heedIndex || field.value.trim() === "") {
      found.hidden = true;
      return;
    }
    const all = search(field.value);
    count.textContent = all.length === 0 ? "Nothing has all of these words." :
        all.length === 1 ? "1 section" : `${all.length} sections`;
    list.replaceChildren(...all.slice(0, kShown).map(entry));
    found.hidden = false;
  }

  field.addEventListener("focus", () => { load(); show(); });
  field.addEventListener("input", show);
  place.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      field.focus();  // which shows what was found
      found.hidden = true;
    } else if (event.key === "Enter" && document.activeElement === field) {
      list.querySelector("a")?.click();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const places = [field, ...list.querySelectorAll("a")];
      const next = places.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      places[Math.min(Math.max(next, 0), places.length - 1)].focus();
      event.preventDefault();
    }
  });
  document.addEventListener("click", (event) => {
    if (!place.contains(event.target) || list.contains(event.target)) {
      found.hidden = true;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    }
  });
})();
