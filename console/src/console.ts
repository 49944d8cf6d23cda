// The script of the console. Every page works without it, and without htmx, except passkeys.

import { begin as beginPasskeys } from "./passkey";

// The link page: the secret is after the # of the address. It goes into the form, and out of the address.
const token = document.querySelector<HTMLInputElement>("#token");
if (token && location.hash.length > 1) {
  token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  document.querySelector("#link-field")?.setAttribute("hidden", "");
}

// A form is sent once, however often its button is pressed. A download leaves its page as it is, so it may be sent again.
document.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method === "get" || "download" in form.dataset) {
    return;
  }
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "1";
});
// A page that the browser kept comes back with its forms ready.
addEventListener("pageshow", () => {
  document.querySelectorAll<HTMLFormElement>("form[data-sent]").forEach((form) => delete form.dataset.sent);
});

// A choice in a filter shows its list at once. htmx sends the form, and changes in the page what is different.
document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.form?.id === "filters") {
    event.target.form.requestSubmit();
  }
});
// A refusal and a page elsewhere, such as that to sign in, are pages of their own.
document.addEventListener("htmx:before:response", (event) => {
  const { response, request } = (event as CustomEvent<Exchange>).detail.ctx;
  if (!response.raw.ok || response.raw.redirected) {
    event.preventDefault();
    location.assign(request.action);
  }
});

// Exchange is what htmx says of a request.
interface Exchange {
  ctx: { request: { action: string }; response: { raw: Response } };
}

void beginPasskeys();
