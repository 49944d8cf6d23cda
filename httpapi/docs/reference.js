// The search of the reference, and what loads Swagger UI once it is asked for.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  // The search goes through the words of all sections, and shows the places in the contents that have every word.
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const contents = document.querySelector(".contents");
  const links = [...contents.querySelectorAll("li a")];
  let index = null;
  const wordsOf = (link) => {
    const section = document.getElementById(link.hash.slice(1));
    return `${section.querySelector(".words")?.textContent ?? ""} ${link.textContent}`.toLowerCase();
  };
  const filter = () => {
    index ??= links.map(wordsOf);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = links.filter((link, i) => {
      const has = words.every((word) => index[i].includes(word));
      link.parentElement.hidden = !has;
      return has;
    });
    for (const group of contents.querySelectorAll(".group")) {
      group.hidden = [...group.nextElementSibling.children].every((item) => item.hidden);
    }
    found.textContent = words.length === 0 ? "" :
      matches.length === 0 ? "Nothing has these words." : `${matches.length} of ${links.length} places`;
    return matches;
  };
  search.addEventListener("input", filter);
  const go = (by) => {
    const stops = [search, ...links.filter((link) => !link.parentElement.hidden)];
    const at = stops.indexOf(document.activeElement);
    stops[Math.max(0, Math.min(stops.length - 1, at + by))]?.focus();
  };
  contents.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      go(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && event.target === search) {
      filter()[0]?.click();
    } else if (event.key === "Escape" && search.value !== "") {
      search.value = "";
      filter();
      search.focus();
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      contents.querySelector("details").open = true;
      search.focus();
    }
  });

  // Try it. Its files take more than the rest of the page does many times, so they are loaded once somebody asks.
  const panel = document.getElementById("try");
  let loading = null;
  const file = (element, attributes) => new Promise((done, failed) => {
    const made = Object.assign(document.createElement(element), attributes);
    made.addEventListener("load", done);
    made.addEventListener("error", () => failed(new Error("A file of it could not be loaded. Try again in a minute.")));
    document.head.append(made);
  });
  const load = async () => {
    await Promise.all([
      file("link", { rel: "stylesheet", href: "docs/swagger-ui.css" }),
      file("script", { src: "docs/swagger-ui-bundle.js" }),
    ]);
    await Promise.all([
      file("link", { rel: "stylesheet", href: "docs/try.css" }),
      file("script", { src: "docs/try.js" }),
    ]);
  };
  const open = async (tag, id) => {
    const state = document.getElementById("state");
    panel.hidden = false;
    document.getElementById("try-name").focus();
    try {
      if (loading === null) {
        state.removeAttribute("role");
        state.setAttribute("role", "status");
        state.textContent = "Loading…";
        loading = load();
      }
      await loading;
      await tryOut(tag, id, document.getElementById("my-key").value.trim()); // of try.js
      state.textContent = "";
    } catch (failure) {
      loading = null;
      state.setAttribute("role", "alert");
      state.textContent = `The reference cannot be tried. ${failure.message}`;
    }
  };
  for (const button of document.querySelectorAll("[data-try]")) {
    button.addEventListener("click", () => open(button.dataset.tag, button.dataset.try));
  }

  // Links of the time when the whole reference was Swagger UI: #/Events/listEvents.
  const [, old] = /^#\/\w+\/(\w+)$/.exec(location.hash) ?? [];
  if (old && document.getElementById(old)) {
    location.replace(`#${old}`);
  }
});
