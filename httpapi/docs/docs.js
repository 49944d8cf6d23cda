// Shows openapi.json by Swagger UI, once it is sure that this is the contract it was made for. Nothing is stored: the
// key that is entered lives in this page's memory alone.
"use strict";

(async () => {
  const state = document.getElementById("state");
  const contract = { title: "Service Public API", version: "1" };

  const load = async () => {
    const response = await fetch("openapi.json", { credentials: "omit", cache: "no-cache" });
    if (response.status === 429) {
      const seconds = response.headers.get("Retry-After");
      throw new Error(`Too many requests from your address. Load the page again in ${seconds} seconds.`);
    }
    if (!response.ok) {
      throw new Error(`openapi.json was answered with status ${response.status}.`);
    }
    const spec = await response.json();
    const { title, version } = spec.info ?? {};
    if (title !== contract.title || version !== contract.version) {
      throw new Error(
        `openapi.json is of "${title}", version "${version}", not of "${contract.title}", version "${contract.version}".`,
      );
    }
    return spec;
  };

  // What is typed, a key above all, is neither remembered by the browser nor sent to a spelling service.
  const privateInputs = ({ React }) => ({
    wrapComponents: {
      Input: (Original) => (props) => {
        const named = props.id === "auth-bearer-value" ? { "aria-label": "API key" } : {};
        return React.createElement(Original, { ...props, ...named, autoComplete: "off", spellCheck: false });
      },
    },
  });

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();

  state.textContent = "Loading the reference…";
  try {
    SwaggerUIBundle({
      spec: await load(),
      domNode: document.getElementById("operations"),
      deepLinking: true,
      persistAuthorization: false,
      validatorUrl: null,
      queryConfigEnabled: false,
      displayRequestDuration: true,
      defaultModelsExpandDepth: 0,
      plugins: [privateInputs],
      onComplete: () => state.remove(),
    });
  } catch (failure) {
    state.setAttribute("role", "alert");
    state.textContent = `The reference cannot be shown. ${failure.message}`;
  }
})();
