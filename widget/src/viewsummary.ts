// What a buyer is about to pay: a line for each tier, and the total.

import { el, user } from './dom.js'
import { formatMoney } from './money.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { Money, PricingQuote } from './types.js'

/**
 * Shows lines with the prices of a quote, and without one while it is on its way, at the same height. What had another
 * price in an earlier quote has that, too, struck out.
 */
export function summary(
  lines: { tier: string; quantity: number }[], quote: PricingQuote | null, before?: PricingQuote,
): HTMLElement {
  return el(
    'dl', 'summary',
    ...lines.map(({ tier, quantity }) => {
      const find = (quote?: PricingQuote | null) => quote?.lines.find((line) => line.tier === tier)
      const line = find(quote)
      return el(
        'div', null,
        el('dt', null, `${quantity} × `, user(text.tierName(tier)),
          quantity > 1 && el('span', 'each muted', line && text.each(formatMoney(line.unitPrice.amount)))),
        price(line?.subtotal, find(before)?.subtotal),
      )
    }),
    el('div', 'total', el('dt', null, Words.total), price(quote?.total, before?.total)),
  )
}

function price(now?: Money, before?: Money): HTMLElement {
  const changed = now && before && now.amount !== before.amount
  return el('dd', null,
    changed && el('s', 'muted', el('span', 'hidden', Words.was), formatMoney(before.amount)), ' ',
    now ? formatMoney(now.amount) : '…')
}

/** Reports whether two quotes ask the same for each line. */
export function samePrices(a: PricingQuote, b: PricingQuote): boolean {
  const prices = ({ lines }: PricingQuote) => lines.map(({ tier, unitPrice }) => tier + unitPrice.amount).join()
  return prices(a) === prices(b)
}
