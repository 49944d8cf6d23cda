// The details of the buyer, and the agreement to the price.

import { el, fill } from './dom.js'
import { linesOf } from './basket.js'
import { formatMoney } from './money.js'
import * as text from './text.js'
import type { PricingQuote } from './types.js'
import { type App, back, heading, notice, type Reason, type View } from './view.js'
import { samePrices, summary } from './viewsummary.js'

type Name = 'email' | 'fullname' | 'phone'

const limits: Record<Name, number> = { email: 320, fullname: 200, phone: 50 }

export function detailsView(app: App, signal: AbortSignal, quote: PricingQuote, reason?: Reason): View {
  const basket = app.basket!
  const title = heading(text.details)
  const problems = el('div', 'message')
  const total = formatMoney(quote.total.amount)
  const fields = [
    field('email', text.email, { type: 'email', autocomplete: 'email', required: true }, text.emailHint),
    field('fullname', text.fullname, { type: 'text', autocomplete: 'name' }),
    field('phone', text.phone, { type: 'tel', autocomplete: 'tel' }),
  ]
  const form = el(
    'form', { class: 'form', novalidate: true, submit },
    problems,
    ...fields.map(({ element }) => element),
    !app.paused && el('button', { type: 'submit', class: 'main' }, reason?.before ? text.agree(total) : text.buy(total)),
  )
  const why = reason && reasonNotice(reason)
  const element = el(
    'div', 'view details',
    back(text.change, () => app.openEvent(basket.event)),
    title, why,
    el('div', 'columns',
      el('section', 'order', el('h3', null, text.summary),
        el('p', 'muted', basket.event.title),
        summary(linesOf(basket), quote, reason?.before)),
      form),
  )
  if (reason?.error?.code === 'INVALID_REQUEST') {
    const refused = fields.filter(({ name }) => reason.error!.message.includes('buyer.' + name))
    refused.forEach(({ report }) => report(text.refused))
    if (refused.length) list(refused)
  }
  return { element, focus: why || title, refresh }

  /** Asks for the prices once more, and for the agreement again if they have changed. */
  async function refresh(): Promise<void> {
    const payload = { eventId: basket.event.id, lines: linesOf(basket) }
    keep()
    try {
      const now = (await app.read('pricing.quote', payload, signal))?.data
      if (now) app.openDetails(now, samePrices(now, quote) ? undefined : { error: null, before: quote })
    } catch {
      app.openEvent(basket.event)
    }
  }

  function submit(event: Event): void {
    event.preventDefault()
    const wrong = fields.filter(({ check }) => !check())
    if (wrong.length) {
      list(wrong)
      problems.querySelector<HTMLElement>('.notice')?.focus()
      return
    }
    keep()
    if (!navigator.onLine) {
      app.say(text.offline)
      return
    }
    app.purchases.begin(basket, app.buyer, quote)
    app.openPurchase()
  }

  /** Remembers what was entered. */
  function keep(): void {
    const [email, fullname, phone] = fields.map(({ value }) => value())
    app.buyer = { email: email!, ...(fullname && { fullname }), ...(phone && { phone }) }
  }

  /** Shows which entries are wrong, each with a way to it. */
  function list(wrong: typeof fields): void {
    fill(problems, [
      notice('bad', text.wrong, wrong.map(({ label, message, focus }) =>
        el('button', { type: 'button', class: 'link', click: focus }, `${label}: ${message()}`))),
    ])
  }

  function field(name: Name, label: string, properties: Record<string, string | boolean>, hint?: string) {
    const error = el('span', { id: `svc-${name}-error`, class: 'error' })
    const input = el('input', {
      id: 'svc-' + name, name, ...properties, dir: name === 'fullname' ? 'auto' : 'ltr', maxlength: 2 * limits[name],
      'aria-describedby': (hint ? `svc-${name}-hint ` : '') + error.id,
      change: () => check(),
      input: () => error.textContent && check(),
    })
    input.value = app.buyer[name] ?? ''
    const value = () => input.value.trim()
    const report = (message: string) => {
      error.textContent = message
      if (message) input.setAttribute('aria-invalid', 'true')
      else input.removeAttribute('aria-invalid')
    }
    const check = () => {
      const entered = value()
      report(
        [...entered].length > limits[name] ? text.tooLong(limits[name])
        : name !== 'email' ? ''
        : !entered ? text.emailMissing
        : /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(entered) ? '' : text.emailWrong,
      )
      return !error.textContent
    }
    const element = el(
      'p', 'field',
      el('label', { for: input.id }, label, name !== 'email' && el('span', 'muted', text.optional)),
      hint && el('span', { id: `svc-${name}-hint`, class: 'muted' }, hint),
      input, error,
    )
    return { name, label, element, check, value, report, message: () => error.textContent ?? '', focus: () => input.focus() }
  }
}

function reasonNotice({ error, before }: Reason): HTMLElement {
  if (before || !error) return notice('info', text.changed, [text.changedHint], error)
  const paused = error.code === 'COMPANY_VERIFICATION_REQUIRED'
  return notice(paused ? 'info' : 'bad', paused ? text.paused : text.failed, [text.explain(error)], error)
}
