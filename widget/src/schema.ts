// The browser schemas, as public.d.ts has them, and a transport that holds what it carries to them.

import { asServiceError, requestIdForm, serviceError } from './error.js'
import { color, integer, is, list, matches, nullable, object, one, pattern, refuse, text, webURL, type Form } from './form.js'
import type { Envelopes, Money, Operation, Payloads, PricingQuote, Transport } from './types.js'

const id = pattern(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i)
const tier = text(60)
const name = nullable(text(500))
const currency = one('NGN')
const amount = pattern(/^(0|[1-9]\d{0,14})\.\d\d$/)
const money = object({ amount, currency })
const dateTime = is((value) => matches(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/, value) && !isNaN(Date.parse(value)))
const clock = nullable(pattern(/^([01]\d|2[0-3]):[0-5]\d$/))
const cursor = pattern(/^[\w-]{1,512}$/)
const requestId = pattern(requestIdForm)
const meta = object({ requestId })
const stock = integer(0, 1e6)
const quantity = integer(1, 50)

export const event = object({
  id,
  object: one('event'),
  title: text(200),
  description: nullable(text(5000)),
  status: one('PUBLISHED'),
  schedule: object({
    date: nullable(pattern(/^\d{4}-\d\d-\d\d$/)),
    startsAt: clock,
    endsAt: clock,
    timezone: nullable(text(100)),
  }),
  location: object({ name, venue: name }),
  imageUrl: webURL(2000),
  organizerName: nullable(text(200)),
  category: nullable(object({ id, name: text(1000), slug: text(1000) })),
  ticketCategories: list(tier, 0, 50),
})

const inventoryTier = object({
  object: one('inventory_tier'),
  tier,
  status: one('AVAILABLE', 'PAUSED', 'SOLD_OUT', 'CANCELLED'),
  availableQuantity: stock,
  totalAdmissions: stock,
  unitPrice: nullable(money),
})

const quoteLine = object({ tier, quantity, unitPrice: money, subtotal: money, availableAtPrice: integer(1, 1e6) })
export const quote = object({
  object: one('pricing_quote'),
  eventId: id,
  currency,
  lines: list(quoteLine, 1, 50),
  total: money,
  quotedAt: dateTime,
})

const order = object({
  id,
  object: one('order'),
  eventId: id,
  status: one('CONFIRMED', 'CANCELLED', 'REFUNDED'),
  gross: money,
  branding: object({
    brandName: text(120),
    logoUrl: nullable(webURL(2048)),
    primaryColor: color,
    accentColor: color,
    checkoutFooter: name,
  }),
  lines: list(object({ id, admissionId: id, title: text(200), tier, unitPrice: money }), 1, 50),
  confirmedAt: dateTime,
})

/** A page: a next cursor is there exactly where there is more. */
const page: Form = (value, path) => {
  const more = (value as { hasMore?: unknown } | null)?.hasMore === true
  return object({ hasMore: one(more), nextCursor: more ? cursor : one(null) })(value, path)
}

const envelopes: Record<Operation, Form> = {
  'events.list': object({ data: list(event, 0, 100), meta: object({ requestId, page }) }),
  'events.inventory': object({ data: list(inventoryTier, 0, 50), meta }),
  'pricing.quote': object({ data: quote, meta }),
  'checkout.create': object({ data: order, meta }),
}

/** The form of a call that comes through a channel. The proxy checks the payload. */
export const callForm = object({ operation: one(...Object.keys(envelopes)), payload: is((value) => typeof value == 'object' && value) })

const kobo = ({ amount }: Money): bigint => BigInt(amount.replace('.', ''))
const chosen = (lines: { tier: string; quantity: number }[]): string =>
  JSON.stringify(lines.map(({ tier, quantity }) => [tier, quantity]).sort())

/** Refuses a quote or an order of something else than what was asked for, and a quote whose sums are wrong. */
function check(data: object, asked: object): void {
  const wrong = (member: string): never => refuse('data.' + member, 'does not match')
  const { eventId, quotedAt, lines, total } = data as PricingQuote
  const { eventId: event, lines: wanted } = asked as Payloads['pricing.quote']
  if (eventId && eventId != event) wrong('eventId')
  if (!quotedAt) return
  if (chosen(lines) != chosen(wanted)) wrong('lines')
  let sum = 0n
  lines.forEach(({ quantity, unitPrice, subtotal }, i) => {
    const due = kobo(unitPrice) * BigInt(quantity)
    if (due != kobo(subtotal)) wrong(`lines[${i}].subtotal`)
    sum += due
  })
  if (sum != kobo(total)) wrong('total')
}

/**
 * Returns a transport that rejects what is not of the browser schema, by the name of the member, and with nothing but
 * ServiceErrors. The console has the name, too, and the request id. A rejected answer has the status 502, as after a failure between proxy and API: if it was of a checkout,
 * an order may have been made.
 */
export function checked(transport: Transport): Transport {
  return async <O extends Operation>(operation: O, payload: Payloads[O]): Promise<Envelopes[O]> => {
    let answer: unknown
    try {
      answer = await transport(operation, payload)
    } catch (thrown) {
      throw asServiceError(thrown)
    }
    try {
      const envelope = envelopes[operation](answer, '') as Envelopes[O]
      check(envelope.data, payload)
      return envelope
    } catch (thrown) {
      const id = (answer as Partial<Envelopes[O]> | null)?.meta?.requestId
      const error = serviceError(502, 'INVALID_UPSTREAM_RESPONSE', (thrown as Error).message, id)
      console.error(error.message, error.requestId)
      throw error
    }
  }
}
