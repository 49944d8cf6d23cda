// The script of the console. Every page works without it, and without htmx, except passkeys. It stands after the bar at
// the top, so that a browser paints the bar while it loads the script, and only then reads the rest of the page. After
// that it loads htmx.

import { begin as beginCharts } from "./chart";
import { begin as beginKeys } from "./keys";
import { begin as beginPasskeys } from "./passkey";

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
// A button copies an id, or the secret before it.
document.addEventListener("click", async (event) => {
  const button = (event.target as Element).closest<HTMLElement>("[data-copy]");
  if (!button) {
    return;
  }
  await navigator.clipboard.writeText(button.dataset.copy || (button.previousElementSibling?.textContent ?? ""));
  button.classList.add("copied");
  const said = document.querySelector("#said");
  if (said) {
    said.textContent = "Copied";
  }
  setTimeout(() => {
    button.classList.remove("copied");
    if (said) {
      said.textContent = "";
    }
  }, 2000);
});

// The calendar beside a day fills it in. What one types is the same in every language.
document.addEventListener("change", (event) => {
  const picker = event.target as HTMLInputElement;
  const day = picker.previousElementSibling;
  if (picker.matches(".picker") && day instanceof HTMLInputElement) {
    day.value = picker.value;
  }
});

// "3 min ago" stays true while the page is open, by the clock of the server.
const behind = Date.now() - Date.parse(document.body.dataset.now ?? "");
const ago = (seconds: number): string => {
  const count = (n: number, unit: string) => `${n} ${unit}${n === 1 ? "" : "s"} ago`;
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes < 1) {
    return "Just now";
  }
  if (hours < 1) {
    return `${minutes} min ago`;
  }
  return hours < 24 ? count(hours, "hour") : count(Math.floor(hours / 24), "day");
};
const refresh = () =>
  document.querySelectorAll<HTMLElement>("[data-ago]").forEach((shown) => {
    const past = (Date.now() - behind - Date.parse(shown.dataset.ago ?? "")) / 1000;
    if (past >= 0) {
      shown.textContent = ago(past);
    }
  });
setInterval(refresh, 30_000);
document.addEventListener("visibilitychange", refresh);

// A first stream that did not come is opened again later: htmx does that only for one that it has had.
const openLater = (stream: Element): void => {
  const open = (): void => {
    const path = stream.getAttribute("hx-sse:connect");
    if (document.hidden) {
      document.addEventListener("visibilitychange", open, { once: true });
    } else if (path && stream.isConnected) {
      htmx.ajax("GET", path, { source: stream }).catch(() => undefined);
    }
  };
  setTimeout(open, 30_000);
};
document.addEventListener("htmx:error", (event) => {
  const source = (event as CustomEvent<Partial<Exchange>>).detail.ctx?.sourceElement;
  if (source?.id === "stream") {
    openLater(source);
  }
});

// A refusal and a page elsewhere, such as that to sign in, are pages of their own. A page that cannot be fetched again
// for now stays as it is, and one that gets no stream for now tries again.
document.addEventListener("htmx:before:response", (event) => {
  const { response, request, sourceElement } = (event as CustomEvent<Exchange>).detail.ctx;
  const { ok, redirected, status } = response.raw;
  if (ok && !redirected) {
    dropLate(event);
    return;
  }
  event.preventDefault();
  if (sourceElement.id === "stream" && (status === 429 || status >= 500)) {
    openLater(sourceElement);
  }
  if (sourceElement.id !== "stream" && (sourceElement.id !== "live" || status < 500)) {
    location.assign(request.action);
  }
});

// A stream that is refused when its page comes back to the front has lost its session or its rights: the page says so,
// and shows nothing any more.
document.addEventListener("htmx:sse:error", (event) => {
  const { status } = (event as CustomEvent<{ status?: number }>).detail;
  if (status === 401 || status === 403 || status === 404) {
    location.reload();
  }
});

// Exchange is what htmx says of a request.
interface Exchange {
  ctx: { request: { action: string }; response: { raw: Response }; sourceElement: Element };
}

// dropLate drops a response for the live part that comes too late: the filter was changed meanwhile, and its response
// was faster, so this one is of another list; or a question was opened.
const dropLate = (event: Event): void => {
  const { request, sourceElement } = (event as CustomEvent<Exchange>).detail.ctx;
  if (sourceElement.id !== "live") {
    return;
  }
  const otherList = new URL(request.action, location.href).search !== location.search;
  if (otherList || answering()) {
    event.preventDefault();
    stale = true;
  }
};
// Either may happen after the headers, while the body arrives.
document.addEventListener("htmx:before:swap", dropLate);

// The stream of a page says that something changed. The page then fetches its live part again, one time at a time.
let fetching = false;
let stale = false;
document.addEventListener("live", async () => {
  stale = true;
  if (fetching) {
    return;
  }
  fetching = true;
  while (stale && !document.hidden && !answering()) {
    stale = false;
    const here = location.pathname + location.search;
    try {
      await htmx.ajax("GET", here, {
        source: "#live", target: "#live", select: "#live", swap: "outerMorph", headers: { "X-Console-Live": "1" },
      });
      refresh();
    } catch {
      // The next change is another chance.
    }
  }
  fetching = false;
});

// An open question about money stays as it is until it is answered or closed: what it says is what the person agrees to,
// and its button keeps its place.
const answering = () => document.querySelector("#live details[data-asks][open]") !== null;
document.addEventListener("toggle", () => {
  if (stale && !answering()) {
    document.dispatchEvent(new Event("live"));
  }
}, true);

declare const htmx: { ajax(verb: string, path: string, options: Record<string, unknown>): Promise<void> };

// What has arrived of a page is shown a second later as it is: the connection is slow, or was cut.
setTimeout(() => {
  document.documentElement.dataset.late = "";
}, 1000);

document.addEventListener("DOMContentLoaded", () => {
  // A field that was not shown yet when the browser looked for it did not get the focus.
  requestAnimationFrame(() => requestAnimationFrame(() => {
    if (document.activeElement === document.body) {
      document.querySelector<HTMLElement>("[autofocus]")?.focus();
    }
  }));

  // The link page: the secret is after the # of the address. It goes into the form, and out of the address.
  const token = document.querySelector<HTMLInputElement>("#token");
  if (token && location.hash.length > 1) {
    token.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    document.querySelector("#link-field")?.setAttribute("hidden", "");
  }

  const later = document.body.dataset.htmx;
  if (later) {
    const script = document.createElement("script");
    script.src = later;
    document.head.append(script);
  }

  beginCharts();
  beginKeys();
  void beginPasskeys();
});
