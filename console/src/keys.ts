// Keys of every page: "/" goes to the search, "g" and a letter go to a page, "?" lists them. They count outside of fields
// alone, and can be turned off, since somebody may dictate.

const storedAs = "console-keys";
const isOff = () => {
  try {
    return localStorage.getItem(storedAs) === "off";
  } catch {
    return false;
  }
};
const keep = (on: boolean) => {
  try {
    if (on) {
      localStorage.removeItem(storedAs);
    } else {
      localStorage.setItem(storedAs, "off");
    }
  } catch {
    // A browser that keeps nothing has them on with the next page.
  }
};

const searchField = () => document.querySelector<HTMLElement>("#find, #filters input:not(.picker)");
const links = () => Array.from(document.querySelectorAll<HTMLAnchorElement>("#menu a[data-key]"));

// element makes an element with text and elements in it.
const element = (name: string, attributes: Record<string, string>, ...inside: (Node | string)[]) => {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...inside);
  return made;
};

// show opens the list of keys.
const show = () => {
  document.querySelector("#shortcuts")?.remove();
  const row = (keys: string[], what: string) =>
    element("li", {}, element("span", {}, ...keys.flatMap((key) => [element("kbd", {}, key), " "])), what);
  const rows = [row(["?"], "This list")];
  if (searchField()) {
    rows.unshift(row(["/"], "Find"));
  }
  links().forEach((link) => rows.push(row(["g", link.dataset.key ?? ""], link.textContent?.trim() ?? "")));
  const on = element("input", { type: "checkbox" }) as HTMLInputElement;
  on.checked = !isOff();
  on.addEventListener("change", () => keep(on.checked));
  const close = element("button", { type: "button", class: "button quiet" }, "Close");
  const dialog = element("dialog", { id: "shortcuts", "aria-labelledby": "shortcuts-title", closedby: "any" },
    element("h2", { id: "shortcuts-title" }, "Shortcuts"), element("ul", { role: "list" }, ...rows),
    element("label", { class: "check" }, on, " ", element("span", {}, "Use these keys")), close) as HTMLDialogElement;
  close.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
};

let goUntil = 0; // until when a letter is one after "g"

const press = (event: KeyboardEvent) => {
  const at = event.target as HTMLElement;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat ||
    isOff() || at.closest("input, textarea, select, dialog, [contenteditable]")) {
    return;
  }
  const going = event.timeStamp < goUntil;
  goUntil = 0;
  const link = going ? links().find((one) => one.dataset.key === event.key) : undefined;
  if (link) {
    event.preventDefault();
    location.assign(link.href);
  } else if (event.key === "g") {
    goUntil = event.timeStamp + 1500;
  } else if (event.key === "?") {
    event.preventDefault();
    show();
  } else if (event.key === "/" && searchField()) {
    event.preventDefault();
    searchField()?.focus();
  }
};

// begin listens to keys, and to the button that lists them.
export const begin = (): void => {
  document.addEventListener("keydown", press);
  document.querySelector("#list-shortcuts")?.addEventListener("click", show);
};
