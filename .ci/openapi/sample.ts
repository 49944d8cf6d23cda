// A program against the types that openapi-typescript makes of openapi.json. It is compiled, not run: what it takes for
// granted, the document says.

import type { components, operations, paths, webhooks } from "./api";

type Schemas = components["schemas"];

// The operations of the API; those of the webhooks are the receiver's.
type Operation = { [P in keyof paths]: { [M in Verb]: Id<paths[P][M]> }[Verb] }[keyof paths];
type Verb = "get" | "post" | "patch" | "delete";
type Id<T> = { [O in keyof operations]: T extends operations[O] ? (operations[O] extends T ? O : never) : never }[keyof operations];

type Body<O extends keyof operations> = operations[O] extends { requestBody?: { content: { "application/json": infer B } } } ? B : undefined;
type Headers<O extends keyof operations> = operations[O]["parameters"] extends { header: infer H } ? H : {};
type Path<O extends keyof operations> = operations[O]["parameters"] extends { path: infer P } ? P : {};
type Query<O extends keyof operations> = operations[O]["parameters"] extends { query?: infer Q } ? Q : undefined;
type Answers<O extends keyof operations> = operations[O]["responses"];
type Json<T> = T extends { content: { "application/json": infer B } } ? B : never;
type Success<O extends keyof operations> = Json<Answers<O>[keyof Answers<O> & (200 | 201)]>;
type Refusal<O extends keyof operations> = Json<Answers<O>[Exclude<keyof Answers<O>, 200 | 201>]>;

class Refused<O extends Operation> extends Error {
  constructor(readonly status: number, readonly body: Refusal<O>) {
    super(`refused with ${status}`);
  }
}

interface Request<O extends Operation> {
  path: Path<O>;
  query?: Query<O>;
  headers: Headers<O>;
  body?: Body<O>;
}

// Each operation has a row here, or this does not compile.
const routes: { [O in Operation]: readonly [method: string, template: string] } = {
  createEvent: ["POST", "/events"],
  listEvents: ["GET", "/events"],
  getEvent: ["GET", "/events/{eventId}"],
  updateEvent: ["PATCH", "/events/{eventId}"],
  cancelEvent: ["DELETE", "/events/{eventId}"],
  listInventory: ["GET", "/events/{eventId}/inventory"],
  createInventory: ["POST", "/events/{eventId}/inventory"],
  updateInventory: ["PATCH", "/events/{eventId}/inventory/{tier}"],
  cancelInventory: ["DELETE", "/events/{eventId}/inventory/{tier}"],
  createQuote: ["POST", "/pricing/quote"],
  createCheckout: ["POST", "/checkouts"],
  listOrders: ["GET", "/orders"],
  getOrder: ["GET", "/orders/{orderId}"],
  validateAdmission: ["POST", "/events/{eventId}/admissions/{admissionId}/validate"],
};

async function call<O extends Operation>(id: O, request: Request<O>): Promise<Success<O>> {
  const [method, template] = routes[id];
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((request.path as Record<string, unknown>)[name])));
  const query = new URLSearchParams(Object.entries(request.query ?? {}).map(([name, value]) => [name, String(value)]));
  const response = await fetch(`https://tickets.example/api/public/v1${path}?${query}`, {
    method,
    headers: { Authorization: "Bearer svc_live.id.secret", "Content-Type": "application/json", ...(request.headers as Record<string, string>) },
    body: request.body === undefined ? null : JSON.stringify(request.body),
  });
  const body: unknown = await response.json();
  if (!response.ok) throw new Refused<O>(response.status, body as Refusal<O>);
  return body as Success<O>;
}

function money(amount: Schemas["Money"]): string {
  const currency: "NGN" = amount.currency;
  return `${currency} ${amount.amount}`;
}

// From a first event to a ticket at the gate, through every operation.
export async function sell(): Promise<string[]> {
  const said: string[] = [];
  const created = await call("createEvent", {
    path: {},
    headers: { "Idempotency-Key": "event-1001" },
    body: {
      title: "Night Market", description: null, date: "2027-05-01", startsAt: "18:00", endsAt: "02:00",
      timezone: "Africa/Lagos", imageUrl: "https://images.example.com/a.png", ticketCategories: ["Balcony"], status: "DRAFT",
    },
  });
  const eventId = created.data.id;
  const stocked = await call("createInventory", {
    path: { eventId },
    headers: { "Idempotency-Key": "stock-1001" },
    body: { tier: "VIP", title: "VIP", unitPrice: "10.00", currency: "NGN", isFree: false, quantity: 10, status: "AVAILABLE" },
  });
  if (stocked.data.unitPrice !== null) said.push(money(stocked.data.unitPrice));
  await call("updateInventory", {
    path: { eventId, tier: "VIP" }, headers: {}, body: { unitPrice: "12.00", currency: "NGN", isFree: false },
  });
  const updated = await call("updateEvent", { path: { eventId }, headers: {}, body: { venue: null, status: "PUBLISHED" } });
  said.push(show(updated.data), show((await call("getEvent", { path: { eventId }, headers: {} })).data));
  const quote = await call("createQuote", {
    path: {}, headers: { "X-Request-Id": "shop-1" }, body: { eventId, lines: [{ tier: "VIP", quantity: 1 }] },
  });
  const order = await buy(eventId, quote.data.lines);
  if (order !== undefined) {
    const again = await call("getOrder", { path: { orderId: order.id }, headers: {} });
    for (const line of again.data.lines) {
      const scan = await call("validateAdmission", {
        path: { eventId, admissionId: line.admissionId }, headers: { "Idempotency-Key": `scan-${line.id}` }, body: { location: "Gate 2" },
      });
      said.push(scan.data.outcome === "ADMITTED" ? "welcome" : `was here at ${scan.data.validatedAt}`);
    }
  }
  let cursor: string | null = null;
  do {
    const page: Success<"listEvents"> = await call("listEvents", {
      path: {}, headers: {}, query: { status: "PUBLISHED", limit: 50, ...(cursor === null ? {} : { cursor }) },
    });
    said.push(...page.data.map(show));
    cursor = page.meta.page.hasMore ? page.meta.page.nextCursor : null;
  } while (cursor !== null);
  const orders = await call("listOrders", { path: {}, headers: {}, query: { eventId, status: ["CONFIRMED", "REFUNDED"] } });
  said.push(...orders.data.map((o) => money(o.gross)));
  for (const tier of (await call("listInventory", { path: { eventId }, headers: {} })).data) said.push(tier.status);
  await call("cancelInventory", { path: { eventId, tier: "VIP" }, headers: {} });
  await call("cancelEvent", { path: { eventId }, headers: {} });
  return said;
}

async function buy(eventId: string, lines: Schemas["QuoteLine"][]): Promise<Schemas["Order"] | undefined> {
  try {
    const answer = await call("createCheckout", {
      path: {},
      headers: { "Idempotency-Key": "cart-1001" },
      body: {
        eventId,
        buyer: { email: "ada@example.com", fullname: null },
        lines: lines.map((l): Schemas["CheckoutLine"] => ({ tier: l.tier, quantity: l.quantity, expectedUnitPrice: l.unitPrice.amount, currency: l.unitPrice.currency })),
      },
    });
    return answer.data;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    const code: Schemas["ErrorCode"] = (problem as Refused<"createCheckout">).body.error.code;
    if (code === "INVENTORY_UNAVAILABLE") return undefined;
    throw problem;
  }
}

// Every status has a case, or this does not compile.
function show(event: Schemas["Event"]): string {
  switch (event.status) {
    case "DRAFT": return "soon";
    case "PUBLISHED": return `${event.title}, ${event.schedule.date ?? "some day"}`;
    case "ENDED": return "over";
    case "CANCELLED": return "called off";
  }
}

type Delivered<T extends keyof webhooks> = webhooks[T] extends { post: { requestBody: { content: { "application/json": infer B } } } } ? B : never;

// The types of webhooks tell their data apart.
export function receive(event: { [T in keyof webhooks]: Delivered<T> }[keyof webhooks]): string {
  switch (event.type) {
    case "order.created": return event.data.order.buyer.name ?? event.data.order.buyer.email;
    case "commission.accrued": return event.data.earnings_balance_after;
    case "balance.low": return event.data.balance_after;
    case "ticket.validated": return event.data.admission_id;
  }
}

// What the document does not allow, does not compile.
export function refused(): void {
  // @ts-expect-error Money is text.
  const price: Schemas["MoneyInput"] = 10;
  // @ts-expect-error A checkout needs its key.
  void call("createCheckout", { path: {}, headers: {} });
  // @ts-expect-error A client ends no event.
  void call("updateEvent", { path: { eventId: "" }, headers: {}, body: { status: "ENDED" } });
  // @ts-expect-error A quote moves no money.
  const code: Refusal<"createQuote">["error"]["code"] = "INSUFFICIENT_FLOAT";
  // @ts-expect-error The last page has no cursor.
  const page: Schemas["Page"] = { hasMore: false, nextCursor: "x" };
  // @ts-expect-error No such member.
  void call("createQuote", { path: {}, headers: {}, body: { eventId: "", lines: [], coupon: "" } });
  void [price, code, page];
}
