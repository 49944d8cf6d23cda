// Shows openapi.json by Swagger UI, once it is sure that this is the contract it was made for. Nothing is stored: the
// key that is entered lives in this page's memory alone. It is loaded by reference.js, after Swagger UI.
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

// tryOut shows an operation. The first call makes all of it; a key of the form of a key is entered.
const tryOut = (() => {
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
  // it. Swagger UI would show tags without operations.
  const shown = (spec, address) => {
    const operations = Object.values(spec.paths).flatMap(Object.values);
    const used = new Set(operations.flatMap((operation) => operation.tags ?? []));
    return {
      ...spec,
      servers: [{ ...spec.servers?.[0], url: new URL(".", address).href.replace(/\/$/, "") }],
      tags: spec.tags?.filter((tag) => used.has(tag.name)),
    };
  };

  // What is typed, a key above all, is neither remembered by the browser nor sent to a spelling service, and the command
  // that is shown with an answer, to be copied, does without the key.
  const privateKey = ({ React }) => ({
    wrapComponents: {
      InfoContainer: () => () => null, // The page around it says all that.
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

  const page = document.getElementById("page");
  let made = null;
  const make = async () => {
    const spec = await load();
    attend(page);
    return new Promise((done) => {
      const ui = SwaggerUIBundle({
        spec,
        domNode: page,
        docExpansion: "none",
        persistAuthorization: false,
        validatorUrl: null,
        queryConfigEnabled: false,
        displayRequestDuration: true,
        defaultModelsExpandDepth: -1,
        plugins: [privateKey],
        onComplete: () => done(ui),
      });
    });
  };
  return async (tag, id, key) => {
    made ??= make();
    let ui;
    try {
      ui = await made;
    } catch (failure) {
      made = null;
      throw failure;
    }
    if (/^svc_live\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(key)) {
      ui.preauthorizeApiKey("apiKey", key);
    }
    ui.layoutActions.show(["operations-tag", tag], true);
    ui.layoutActions.show(["operations", tag, id], true);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      document.getElementById(`operations-${tag}-${id}`)?.scrollIntoView({ block: "start" });
    }));
  };
})();
