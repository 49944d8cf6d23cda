// Puts a button to copy above each block of commands, where the browser lets a page write to the clipboard. Without it the
// guide is the same to read.
"use strict";

if (navigator.clipboard) {
  const said = document.createElement("p");
  said.className = "said";
  said.setAttribute("role", "status");
  document.body.append(said);

  document.querySelectorAll("pre:has(> .language-sh)").forEach((commands, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy block ${i + 1}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(commands.textContent);
        button.textContent = "Copied"; // It stays: the blocks are followed in order.
        button.className = "copied";
        said.textContent = `Block ${i + 1} is copied`;
      } catch {
        button.textContent = "Select it";
        said.textContent = `Block ${i + 1} cannot be copied by this button`;
      }
    });
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.append("bash", button);
    commands.before(bar);
  });
}
