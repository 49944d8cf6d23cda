// A purchase: one order, however often it is sent.
//
// A purchase is stored with its key before it is sent, and removed when an answer is final. An attempt is in doubt when
// nothing proves what became of it. From then on only the order itself, or the proof that the API had not sold under
// the key, ends the doubt. The same key and body are sent until then.

import { type Basket, parse } from './basket.js'
import { sleep } from './read.js'
import type { Order, Payloads, PricingQuote, ServiceError, Store, Transport } from './types.js'

const name = 'purchase'

export type Buyer = Payloads['checkout.create']['buyer']

/** What is stored of a purchase. */
export interface Purchase {
  payload: Payloads['checkout.create']
  /** What the buyer has agreed to pay, for display. */
  quote: PricingQuote
}

/**
 * What an attempt has shown. After a refusal nothing was bought, and the purchase has ended. After "wait" the purchase is
 * to be sent again later, and "doubt" says if an earlier attempt may have bought.
 */
export type Outcome =
  | { kind: 'sold'; order: Order }
  | { kind: 'refused'; error: ServiceError }
  | { kind: 'unknown'; error: ServiceError }
  | { kind: 'wait'; error: ServiceError; doubt: boolean }

export interface Purchases {
  /** The purchase that has no final answer, or null. */
  open: Purchase | null
  /** Begins a purchase, and stores it. */
  begin(basket: Basket, buyer: Buyer, quote: PricingQuote): void
  /** Sends the open purchase. While an attempt is on its way, it is the one attempt. */
  send(): Promise<Outcome>
  /** Ends a purchase that was refused for now and is not in doubt. */
  cancel(): void
}

/** Waits between attempts after CONFLICT, which is the answer while the first attempt is in progress. */
const conflictWaits = [1, 2, 4, 8]

/** Makes the purchases of a widget. A purchase that the store has may have been sent, so it is in doubt. */
export function createPurchases(store: Store, transport: Transport, signal: AbortSignal): Purchases {
  let attempt: Promise<Outcome> | null = null
  let doubt = false
  const stored = parse<Purchase>(store.get(name))
  const purchases: Purchases = {
    open: stored?.payload?.idempotencyKey && stored.quote?.total ? stored : null,
    begin(basket, buyer, quote) {
      const body = {
        eventId: basket.event.id,
        buyer,
        lines: quote.lines.map(({ tier, quantity, unitPrice }) => ({
          tier, quantity, expectedUnitPrice: unitPrice.amount, currency: unitPrice.currency,
        })),
      }
      purchases.open = { payload: { ...body, idempotencyKey: `${basket.seed}.${digest(JSON.stringify(body))}` }, quote }
      store.set(name, JSON.stringify(purchases.open))
    },
    send() {
      attempt ??= run(purchases.open!).finally(() => (attempt = null))
      return attempt
    },
    cancel() {
      if (!doubt && !attempt) end()
    },
  }
  doubt = purchases.open !== null
  return purchases

  function end(): void {
    purchases.open = null
    doubt = false
    store.remove(name)
  }

  async function run({ payload }: Purchase): Promise<Outcome> {
    for (let turn = 0; ; turn++) {
      let error: ServiceError
      try {
        const order = (await transport('checkout.create', payload)).data
        if (order.status === 'CONFIRMED' && order.eventId === payload.eventId) {
          end()
          return { kind: 'sold', order }
        }
        error = { status: 0, requestId: null } as ServiceError // It is not what was sent for.
      } catch (failure) {
        error = failure as ServiceError
      }
      if (error.code === 'INVENTORY_UNAVAILABLE' || (isRefusal(error) && !doubt)) {
        end()
        return { kind: 'refused', error }
      }
      if (error.status === 429) return { kind: 'wait', error, doubt }
      if (!isRefusal(error)) doubt = true
      const wait = conflictWaits[turn]
      if (error.code === 'CONFLICT' && wait) await sleep(wait, signal)
      else return { kind: 'unknown', error }
      if (signal.aborted) return { kind: 'unknown', error }
    }
  }
}

/** Reports whether an answer proves that its own attempt bought nothing. A 429 is a refusal for now. */
export function isRefusal({ status, code }: ServiceError): boolean {
  return (
    status >= 400 && status < 500 && status !== 408 && status !== 429 &&
    !/^(PROXY_RESPONSE_NOT_JSON|REQUEST_FAILED|INVALID_UPSTREAM_RESPONSE|CONFLICT)$/.test(code)
  )
}

/**
 * Returns a short digest of what is bought. It is part of the key, so that the same basket bought twice in two tabs is one
 * order, and another basket never meets a key that is spent. The seed before it is what nobody can guess.
 */
function digest(body: string): string {
  let hash = 0xcbf29ce484222325n // FNV-1a with 64 bits, over UTF-16
  for (let i = 0; i < body.length; i++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(body.charCodeAt(i))) * 0x100000001b3n)
  }
  return hash.toString(36)
}
