// Passkeys: signing in with one, adding one, and confirming with one.

// Options are those of the server, whose bytes are texts in base64url. Browsers of before 2025 have no function that
// reads them.
interface Options {
  challenge: string;
  user?: { id: string };
  allowCredentials?: Descriptor[];
  excludeCredentials?: Descriptor[];
}

interface Descriptor {
  id: string;
  type: "public-key";
}

interface Answer<T> {
  data?: T;
  error?: { code: string; message: string };
}

class Refusal extends Error {}

const bytes = (text: string): ArrayBuffer => {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (c) => c.charCodeAt(0)).buffer;
};

const text = (buffer: ArrayBuffer | null): string | undefined =>
  buffer
    ? btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")
    : undefined;

const post = async <T>(path: string, body?: unknown): Promise<T> => {
  const response = await fetch(path, {
    method: "POST",
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
  });
  const answer = (await response.json()) as Answer<T>;
  if (!response.ok || answer.data === undefined) {
    throw new Refusal(answer.error?.message ?? "This did not work. Try again.");
  }
  return answer.data;
};

const descriptors = (all: Descriptor[] | undefined) => (all ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

// get asks the browser for a passkey and returns what the server verifies.
const get = async (options: Options, more: CredentialRequestOptions = {}): Promise<unknown> => {
  const found = (await navigator.credentials.get({
    ...more,
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      allowCredentials: descriptors(options.allowCredentials),
    } as PublicKeyCredentialRequestOptions,
  })) as PublicKeyCredential;
  const response = found.response as AuthenticatorAssertionResponse;
  return {
    id: found.id,
    rawId: found.id,
    type: found.type,
    clientExtensionResults: {},
    response: {
      authenticatorData: text(response.authenticatorData),
      clientDataJSON: text(response.clientDataJSON),
      signature: text(response.signature),
      userHandle: text(response.userHandle),
    },
  };
};

// create makes a passkey and returns what the server verifies.
const create = async (options: Options): Promise<unknown> => {
  const made = (await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      user: { ...options.user, id: bytes(options.user?.id ?? "") },
      excludeCredentials: descriptors(options.excludeCredentials),
    } as PublicKeyCredentialCreationOptions,
  })) as PublicKeyCredential;
  const response = made.response as AuthenticatorAttestationResponse;
  return {
    id: made.id,
    rawId: made.id,
    type: made.type,
    clientExtensionResults: {},
    response: {
      attestationObject: text(response.attestationObject),
      clientDataJSON: text(response.clientDataJSON),
      transports: response.getTransports?.() ?? [],
    },
  };
};

// say shows why a passkey was not used.
const say = (text: string) => {
  const failed = document.querySelector<HTMLElement>("#passkey-failed");
  if (failed) {
    failed.textContent = text;
    failed.removeAttribute("hidden");
  }
};

// guard runs what a button does, and shows a failure. What a person cancels is none.
const guard = (button: HTMLButtonElement, act: () => Promise<void>) => {
  button.addEventListener("click", async () => {
    button.disabled = true;
    document.querySelector("#passkey-failed")?.setAttribute("hidden", "");
    try {
      await act();
    } catch (error) {
      const name = (error as Error).name;
      if (name !== "NotAllowedError" && name !== "AbortError") {
        say(
          error instanceof Refusal
            ? error.message
            : name === "InvalidStateError"
              ? "This device has a passkey for you already."
              : "This browser could not use a passkey.",
        );
      }
    } finally {
      button.disabled = false;
    }
  });
};

const button = (id: string) => document.querySelector<HTMLButtonElement>(id);
const show = (id: string): HTMLElement | null => {
  const found = document.querySelector<HTMLElement>(id);
  found?.removeAttribute("hidden");
  return found;
};

// signIn is the sign-in page: a button, and the passkeys among what the browser offers for the field of the address.
const signIn = async (into: HTMLElement, start: HTMLButtonElement) => {
  const next = into.dataset.next ? "?" + new URLSearchParams({ next: into.dataset.next }) : "";
  const finish = async (response: unknown) => {
    const { next: to } = await post<{ next: string }>("/sign-in/passkey" + next, response);
    location.assign(to);
  };
  const offered = new AbortController();
  guard(start, async () => {
    offered.abort();
    await finish(await get(await post<Options>("/sign-in/passkey/begin")));
  });
  if (!document.querySelector("#email") || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) {
    return;
  }
  for (let refused = true; refused; ) {
    refused = false;
    try {
      const options = await post<Options>("/sign-in/passkey/begin");
      const response = await get(options, { mediation: "conditional", signal: offered.signal });
      await finish(response).catch((error: Error) => {
        // A page that was open for long has an old challenge: the next offer has another one.
        refused = error instanceof Refusal;
        say(refused ? error.message : "This did not work. Load the page again.");
      });
    } catch {
      // The person signs in another way: the button makes another offer.
    }
  }
};

// begin shows the parts of a page that need passkeys, where the browser has them.
export const begin = async (): Promise<void> => {
  // An address of numbers may not have passkeys.
  if (!("PublicKeyCredential" in window) || !navigator.credentials || /^[\d.]+$|:/.test(location.hostname)) {
    // The place of the button says so, in the same room.
    document.querySelectorAll<HTMLElement>(".kept").forEach((place) => {
      place.classList.add("lacks");
      place.hidden = false;
    });
    return;
  }
  const add = button("#passkey-add");
  if (add) {
    show("#passkey-new");
    guard(add, async () => {
      await post("/account/passkeys/add", await create(await post<Options>("/account/passkeys/begin")));
      location.reload();
    });
  }
  const confirm = button("#passkey-confirm-button");
  if (confirm) {
    show("#passkey-confirm");
    guard(confirm, async () => {
      await post("/account/confirm", await get(await post<Options>("/account/confirm/begin")));
      // The form is sent again as it is, without the field of a code.
      const form = document.querySelector<HTMLFormElement>("#confirm");
      form?.querySelector("#code")?.remove();
      form?.submit();
    });
  }
  const start = button("#passkey-button");
  if (start) {
    const into = show("#passkey");
    if (into) {
      await signIn(into, start);
    }
  }
};
