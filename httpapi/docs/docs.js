// Shows openapi.json by Swagger UI, once it is sure that this is the contract it was made for. Nothing is stored: the
// key that is entered lives in this page's memory alone.
"use strict";

// attend gives what Swagger UI draws the names and roles that it leaves out, keeps the focus in its dialog while that is
// open, and hands it back.
const attend = (page) => {
  const names = [
    ["#servers", () => "Server"],
    [".close-modal", () => "Close"],
    [".body-param__text", () => "Request body"],
    [".examples-select-element", () => "Example"],
    ["[data-param-name] :is(select, textarea, input)", (field) => field.closest("[data-param-name]").dataset.paramName],
  ];
  const roles = [
    ["main main", { role: "group", "aria-label": "Operations" }], // A page has one main.
    [".modal-ux", { role: "dialog", "aria-modal": "true", "aria-label": "Authorize" }],
  ];
  let dialog = null;
  let opener = null;

  const amend = () => {
    for (const [selector, name] of names) {
      for (const control of document.querySelectorAll(`${selector}:not([aria-label])`)) {
        control.setAttribute("aria-label", name(control));
      }
    }
    for (const [selector, attributes] of roles) {
      for (const element of document.querySelectorAll(`${selector}:not([role])`)) {
        for (const [name, value] of Object.entries(attributes)) {
          element.setAttribute(name, value);
        }
      }
    }
    const closed = dialog && !dialog.isConnected;
    dialog = document.querySelector(".modal-ux");
    if (closed && !dialog) {
      opener?.focus();
    }
  };
  new MutationObserver(amend).observe(page, { childList: true, subtree: true });

  page.addEventListener("click", ({ target }) => {
    if (!dialog) {
      opener = target.closest("button");
    }
  }, true);

  document.addEventListener("keydown", (event) => {
    if (!dialog || event.key !== "Tab") {
      return;
    }
    const stops = [...dialog.querySelectorAll("button, input, a[href]")];
    const inside = dialog.contains(document.activeElement);
    if (!inside || document.activeElement === stops.at(event.shiftKey ? 0 : -1)) {
      event.preventDefault();
      stops.at(event.shiftKey ? -1 : 0).focus();
    }
  });
};

(async () => {
  const state = document.getElementById("state");
  const contract = { title: "Service Public API", version: "1" };

  const load = async () => {
    const response = await fetch("openapi.json", { credentials: "omit", cache: "no-cache" });
    if (response.status === 429) {
      const after = response.headers.get("Retry-After");
      const wait = /^\d+$/.test(after) ? `${after} seconds` : "a minute"; // A proxy may give none, or a date.
      throw new Error(`Too many requests from your address. Load the page again in ${wait}.`);
    }
    if (!response.ok) {
      throw new Error(`openapi.json was answered with status ${response.status}.`);
    }
    const spec = await response.json().catch(() => {
      throw new Error("openapi.json is not JSON.");
    });
    const { title, version } = spec?.info ?? {};
    if (title !== contract.title || version !== contract.version) {
      const named = (info) => `${JSON.stringify(info.title)}, version ${JSON.stringify(info.version)}`;
      throw new Error(`openapi.json is of ${named({ title, version })}, not of ${named(contract)}.`);
    }
    return shown(spec, response.url);
  };

  // The contract as this page shows it. Calls go to where the document came from, whatever prefix a proxy has put before
  // it. Swagger UI would show tags without operations, and make a link to another host of the licence's identifier.
  const shown = (spec, address) => {
    const operations = Object.values(spec.paths).flatMap(Object.values);
    const used = new Set(operations.flatMap((operation) => operation.tags ?? []));
    return {
      ...spec,
      info: { ...spec.info, license: { name: spec.info.license?.name } },
      servers: [{ ...spec.servers?.[0], url: new URL(".", address).href.replace(/\/$/, "") }],
      tags: spec.tags?.filter((tag) => used.has(tag.name)),
    };
  };

  // What is typed, a key above all, is neither remembered by the browser nor sent to a spelling service, and the command
  // that is shown with an answer, to be copied, does without the key.
  const privateKey = ({ React }) => ({
    wrapComponents: {
      Input: (Original) => (props) => {
        const named = props.id === "auth-bearer-value" ? { "aria-label": "API key" } : {};
        return React.createElement(Original, { ...props, ...named, autoComplete: "off", spellCheck: false });
      },
      curl: (Original) => (props) => {
        const header = ["headers", "Authorization"];
        const request = props.request.hasIn(header) ? props.request.setIn(header, "Bearer <API_KEY>") : props.request;
        return React.createElement(Original, { ...props, request });
      },
    },
  });

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();

  attend(document.getElementById("page"));
  state.textContent = "Loading the reference…";
  try {
    SwaggerUIBundle({
      spec: await load(),
      domNode: document.getElementById("page"),
      deepLinking: true,
      persistAuthorization: false,
      validatorUrl: null,
      queryConfigEnabled: false,
      displayRequestDuration: true,
      defaultModelsExpandDepth: 0,
      plugins: [privateKey],
      onComplete: () => state.remove(),
    });
  } catch (failure) {
    state.setAttribute("role", "alert");
    state.textContent = `The reference cannot be shown. ${failure.message}`;
  }
})();
