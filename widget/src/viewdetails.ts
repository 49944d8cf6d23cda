// The details of the buyer, and the agreement to the price.

import { el, fill, set } from './dom.js'
import { formatMoney } from './money.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { PricingQuote } from './types.js'
import { type App, back, button, heading, notice, type Reason, type View } from './view.js'
import { samePrices, summary } from './viewsummary.js'

type Name = 'email' | 'fullname' | 'phone'

const limits: Record<Name, number> = { email: 320, fullname: 200, phone: 50 }

export function detailsView(app: App, signal: AbortSignal, quote: PricingQuote, reason?: Reason): View {
  const basket = app.basket!
  const { paused } = app
  const title = heading(Words.details)
  const problems = el('div', 'message')
  const total = formatMoney(quote.total.amount)
  const fields = [
    field('email', Words.email, { type: 'email', autocomplete: 'email', required: true }, Words.emailHint),
    field('fullname', Words.fullname, { type: 'text', autocomplete: 'name' }),
    field('phone', Words.phone, { type: 'tel', autocomplete: 'tel' }),
  ]
  const form = el(
    'form', { class: 'form', novalidate: true, submit },
    problems,
    ...fields.map(({ element }) => element),
    !paused && el('button', { type: 'submit', class: 'main' }, reason?.before ? text.agree(total) : text.buy(total)),
  )
  const element = el(
    'div', 'view details',
    back(Words.change, () => app.openEvent(basket.event)),
    title,
    el('div', 'columns',
      el('section', 'order', el('h3', null, Words.summary),
        el('p', 'muted', basket.event.title),
        summary(basket.lines, quote, reason?.before)),
      form),
  )
  if (reason?.error?.code === 'INVALID_REQUEST') {
    const refused = fields.filter(({ name }) => reason.error!.message.includes('buyer.' + name))
    refused.forEach(({ report }) => report(Words.refused))
    if (refused.length) list(refused)
  }
  return { element, focus: title, refresh }

  /** Asks for the prices once more, and for the agreement again if they have changed. */
  async function refresh(): Promise<void> {
    try {
      const now = await app.price(signal)
      const same = now && samePrices(now, quote)
      if (now && (paused || !same)) app.openDetails(now, same ? undefined : { error: null, before: quote })
    } catch {
      app.openEvent(basket.event)
    }
  }

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    const wrong = fields.filter(({ check }) => !check())
    if (wrong.length) {
      list(wrong)
      problems.querySelector<HTMLElement>('.notice')?.focus()
      return
    }
    keep()
    // Without a connection nothing is sent, so nothing is in doubt. A browser does not know, so the shop is asked.
    if (!navigator.onLine) {
      try {
        await app.transport('pricing.quote', { eventId: basket.event.id, lines: basket.lines })
      } catch {
        return
      }
      if (signal.aborted) return
    }
    app.purchases.begin(basket, app.buyer, quote)
    app.openPurchase()
  }

  /** Remembers what was entered. */
  function keep(): void {
    const [email, fullname, phone] = fields.map(({ value }) => value())
    app.buyer = { email: email!.toLowerCase(), ...(fullname && { fullname }), ...(phone && { phone }) }
  }

  /** Shows which entries are wrong, each with a way to it. */
  function list(wrong: typeof fields): void {
    fill(problems, notice('bad', Words.wrong, wrong.map(({ label, message, focus }) =>
      button('link', `${label}: ${message()}`, focus))))
  }

  function field(name: Name, label: string, properties: Record<string, string | boolean>, hint?: string) {
    const error = el('span', { id: `svc-${name}-error`, class: 'error' })
    const input = el('input', {
      id: 'svc-' + name, name, ...properties, dir: name === 'fullname' ? 'auto' : 'ltr', maxlength: 2 * limits[name],
      'aria-describedby': (hint ? `svc-${name}-hint ` : '') + error.id,
      change: () => check(),
      input: () => {
        keep()
        if (error.textContent) check()
      },
    })
    input.value = app.buyer[name] ?? ''
    const value = () => input.value.trim()
    const report = (message: string) => {
      error.textContent = message
      set(input, { 'aria-invalid': message && 'true' })
    }
    const check = () => {
      const entered = value()
      report(
        [...entered].length > limits[name] ? text.tooLong(limits[name])
        : name !== 'email' ? ''
        : !entered ? Words.emailMissing
        : /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(entered) ? '' : Words.emailWrong,
      )
      return !error.textContent
    }
    const element = el(
      'p', 'field',
      el('label', { for: input.id }, label, name !== 'email' && el('span', 'muted', Words.optional)),
      hint && el('span', { id: `svc-${name}-hint`, class: 'muted' }, hint),
      input, error,
    )
    return { name, label, element, check, value, report, message: () => error.textContent ?? '', focus: () => input.focus() }
  }
}
