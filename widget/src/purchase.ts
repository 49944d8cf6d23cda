// A purchase: one order, however often it is sent.
//
// A purchase is stored with its key before it is sent, and removed when an answer is final. An attempt is in doubt when
// nothing proves what became of it. From then on only the order itself, or the proof that the API had not sold under
// the key, ends the doubt. The same key and body are sent until then, or until the buyer leaves the purchase.

import { type Basket, load, saveBasket } from './basket.js'
import { integer, list, object, one, optional, text } from './form.js'
import { sleep } from './read.js'
import { quote } from './schema.js'
import type { Order, Payloads, PricingQuote, ServiceError, Store, Transport } from './types.js'

const name = 'purchase'

export type Buyer = Payloads['checkout.create']['buyer']

/** What is stored of a purchase. */
export interface Purchase {
  payload: Payloads['checkout.create']
  /** What the buyer has agreed to pay, for display. */
  quote: PricingQuote
}

const short = text(999)
const line = object({ tier: text(60), quantity: integer(1, 50), expectedUnitPrice: short, currency: one('NGN') })
const payload = object({
  eventId: short,
  buyer: object({ email: short, fullname: optional(short), phone: optional(short) }),
  lines: list(line, 1, 50),
  idempotencyKey: short,
})
const form = object({ payload, quote })

/** What an attempt has shown: the order, whatever became of it since, or an error. */
export type Outcome = { order: Order; error?: never } | { order?: never; error: ServiceError }

export interface Purchases {
  /** The purchase that has no final answer, or null. An error without one is a refusal: nothing was bought. */
  open: Purchase | null
  /** An attempt may have bought. */
  doubt: boolean
  /** Begins a purchase, and stores it. */
  begin(basket: Basket, buyer: Buyer, quote: PricingQuote): void
  /** Sends the open purchase. While an attempt is on its way, it is the one attempt. */
  send(): Promise<Outcome>
  /** Ends the open purchase. */
  end(): void
}

/** How often a purchase is sent again after CONFLICT, which is the answer while the first attempt is in progress. */
const repeats = 4

/** Makes the purchases of a widget. A purchase that the store has may have been sent, so it is in doubt. */
export function createPurchases(store: Store, transport: Transport, signal: AbortSignal): Purchases {
  let attempt: Promise<Outcome> | null = null
  const open = load<Purchase>(store, name, form)
  const purchases: Purchases = {
    open,
    doubt: open !== null,
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
    end() {
      purchases.open = null
      purchases.doubt = false
      store.remove(name)
    },
  }
  return purchases

  async function run({ payload }: Purchase): Promise<Outcome> {
    for (let turn = 0; ; turn++) {
      let error = { status: 0, requestId: null } as ServiceError // It is not what was sent for.
      try {
        const order = (await transport('checkout.create', payload)).data
        if (order.eventId === payload.eventId) {
          // Nobody sees the order after the signal: the purchase stays for the next widget.
          if (!signal.aborted) {
            saveBasket(store, null)
            purchases.end()
          }
          return { order }
        }
      } catch (failure) {
        error = failure as ServiceError
      }
      if (signal.aborted) return { error }
      if (isRefusal(error)) {
        if (!purchases.doubt || unsold.test(error.code)) {
          purchases.end()
          return { error }
        }
      } else if (error.status !== 429) purchases.doubt = true
      if (error.code !== 'CONFLICT' || turn === repeats) return { error }
      await sleep(2 ** turn, signal)
      if (signal.aborted) return { error }
    }
  }
}

/** The codes that the API gives only after it has looked for an order of the key, and found none. */
const unsold = /^((INVENTORY|COMMISSION_RATE|CHECKOUT)_UNAVAILABLE|INSUFFICIENT_FLOAT)$/

/** Reports whether an answer proves that its own attempt bought nothing. A 429 is a refusal for now. */
export function isRefusal({ status, code }: ServiceError): boolean {
  return (
    status >= 400 && status < 500 && status !== 408 && status !== 429 &&
    !/^(PROXY_RESPONSE_NOT_JSON|REQUEST_FAILED|INVALID_UPSTREAM_RESPONSE|CONFLICT)$/.test(code)
  )
}

/** Reports whether tickets are to be priced again after an answer. */
export function isOutdated({ code }: ServiceError): boolean {
  return /^(PRICING|INVENTORY)_UNAVAILABLE$/.test(code)
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
