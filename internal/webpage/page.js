// What the pages do where a script runs. They can be read without it. Nothing is stored, and nothing is sent.
"use strict";

{
  const said = document.createElement("p");
  said.className = "said";
  said.setAttribute("role", "status");
  document.body.append(said);

  // A block of code gets a button that copies what is shown of it, where the browser lets a page write to the clipboard.
  const copies = (strip, number) => {
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
    document.querySelectorAll(".code > .strip").forEach((strip, i) => copies(strip, i + 1));
  }
}
