// What the pages do where a script runs. They can be read without it. Nothing is stored: what is typed is in the memory of
// the page alone. The script and the stylesheet of a page stand after the bar at the top, so that a browser paints the bar
// while it loads them, and only then reads the rest of the page.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const said = document.createElement("p");
  said.className = "said";
  said.setAttribute("role", "status");
  document.body.append(said);

  // A block of code gets a button that copies what is shown of it, where the browser lets a page write to the clipboard.
  const addCopy = (strip, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${strip.dataset.copy ?? `block ${number}`}`);
    button.addEventListener("click", async () => {
      const block = [...strip.parentElement.querySelectorAll(":scope > pre")].find((pre) => pre.checkVisibility());
      try {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied"; // It stays: blocks are often followed in order.
        button.classList.add("copied");
        said.textContent = "Copied to the clipboard";
      } catch {
        button.textContent = "Select it";
        said.textContent = "The browser does not let this button copy: select the text";
      }
    });
    strip.append(button);
  };
  if (navigator.clipboard) {
    document.querySelectorAll(".code:not(:has(> .json)) > .strip").forEach((strip, i) => addCopy(strip, i + 1));
  }

  // A language that is chosen for one sample is that of all. What one looks at stays where it is.
  document.addEventListener("change", ({ target }) => {
    if (!target.matches(".languages input")) {
      return;
    }
    const at = target.getBoundingClientRect().top;
    for (const other of document.querySelectorAll(`.languages input[value=${target.value}]`)) {
      other.checked = true;
    }
    scrollBy({ top: target.getBoundingClientRect().top - at, behavior: "instant" });
  });

  // The samples have the address of this page, until the reader types another, and the key that is typed. Both have the
  // form that no shell and no language takes for more than a text.
  const mine = document.querySelector(".mine");
  if (mine) {
    const base = document.getElementById("my-base");
    const key = document.getElementById("my-key");
    const hint = document.getElementById("my-hint");
    const usual = hint.textContent;
    const forms = {
      base: /^https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~-]+)*$/,
      key: /^svc_live\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/,
    };
    const shown = { base: base.placeholder, key: key.placeholder };
    const set = (name, value) => {
      for (const place of document.querySelectorAll(`[data-my=${name}]`)) {
        place.textContent = value;
        place.classList.toggle("set", value !== shown[name]);
      }
    };
    const update = () => {
      const typed = { base: base.value.trim().replace(/\/+$/, ""), key: key.value.trim() };
      const wrong = Object.keys(typed).filter((name) => typed[name] !== "" && !forms[name].test(typed[name]));
      for (const [name, input] of [["base", base], ["key", key]]) {
        const good = typed[name] !== "" && !wrong.includes(name);
        set(name, good ? typed[name] : shown[name]);
        input.setAttribute("aria-invalid", String(wrong.includes(name)));
      }
      hint.classList.toggle("wrong", wrong.length > 0);
      hint.textContent = { base: "A base address looks like https://tickets.example/api/public/v1.",
        key: "A key looks like svc_live.key-id.secret." }[wrong[0]] ?? usual;
    };
    const here = new URL(".", location.href).href.replace(/\/$/, "");
    base.value = forms.base.test(here) ? here : "";
    key.value = ""; // Some browsers fill in what was typed before a reload.
    mine.addEventListener("input", update);
    update();
  }

  // The contents mark the place one is at. On a phone they fold when one goes to a place.
  const contents = document.querySelector(".contents");
  if (contents) {
    const details = contents.querySelector("details");
    const wide = matchMedia("(min-width: 60rem)");
    const unfold = () => { details.open = wide.matches; }; // Browsers of before 2025 fold it on a desktop, too.
    wide.addEventListener("change", unfold);
    unfold();
    contents.addEventListener("click", ({ target }) => {
      if (target.closest("a") && !wide.matches) {
        details.open = false;
      }
    });

    const links = [...contents.querySelectorAll("a")];
    const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    let marked = null;
    const mark = () => {
      const line = innerHeight / 4;
      let at = places.findLastIndex((place) => place.getBoundingClientRect().top <= line);
      if (scrollY + innerHeight >= document.documentElement.scrollHeight - 2) {
        at = places.length - 1;
      }
      if (links[at] !== marked) {
        marked?.removeAttribute("aria-current");
        marked = links[at] ?? null;
        marked?.setAttribute("aria-current", "true");
        if (wide.matches) {
          marked?.scrollIntoView({ block: "nearest", behavior: "instant" });
        }
      }
    };
    let waits = false;
    document.addEventListener("scroll", () => {
      if (!waits) {
        waits = true;
        requestAnimationFrame(() => {
          waits = false;
          mark();
        });
      }
    }, { passive: true });
    requestAnimationFrame(mark);
  }
});
