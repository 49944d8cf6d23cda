// A purchase on its way: being sent, waiting, or in doubt. Basket and buyer cannot be changed here.

import { saveBasket } from './basket.js'
import { el, fill, user } from './dom.js'
import type { Outcome, Purchase } from './purchase.js'
import { countDown, online } from './read.js'
import * as text from './text.js'
import type { ServiceError } from './types.js'
import { type App, button, heading, notice, type View, waiting } from './view.js'
import { samePrices, summary } from './viewsummary.js'

/** How often a purchase is sent again by itself after "too many requests". */
const waits = 3

/** Shows the open purchase. It is sent at once, unless it was begun before the page was loaded. */
export function purchaseView(app: App, signal: AbortSignal, resumed: boolean): View {
  const purchase = app.purchases.open!
  const title = heading(text.buying)
  const message = el('div', 'message')
  const { payload, quote } = purchase
  const event = app.basket?.event ?? null
  const element = el(
    'div', 'view purchase', title, message,
    el('section', 'order', el('h3', null, text.summary),
      el('p', 'muted', user(payload.buyer.email)),
      summary(payload.lines, quote)),
  )
  let waited = 0
  if (resumed) showDoubt(null)
  else void send()
  return { element, focus: title }

  async function send(): Promise<void> {
    title.textContent = text.buying
    element.setAttribute('aria-busy', 'true')
    fill(message, [el('p', 'busy', text.buyingHint)])
    await online(signal)
    const outcome = await app.purchases.send()
    if (signal.aborted) return
    element.removeAttribute('aria-busy')
    await settle(outcome)
  }

  async function settle(outcome: Outcome): Promise<void> {
    switch (outcome.kind) {
      case 'sold':
        app.basket = null
        saveBasket(app.parts.store, null)
        app.buyer = { email: '' }
        return app.openSuccess(outcome.order, payload.buyer.email, event)
      case 'unknown':
        return showDoubt(outcome.error)
      case 'wait':
        return showWait(outcome.error, outcome.doubt)
      case 'refused':
        return refused(outcome.error, purchase)
    }
  }

  /** The only way on is the same key with the same body. */
  function showDoubt(error: ServiceError | null): void {
    title.textContent = text.doubt
    fill(message, [notice('info', text.doubtHint, [], error, button('main', text.check, () => {
      title.focus()
      void send()
    }))])
    app.say(text.doubt)
  }

  async function showWait(error: ServiceError, doubt: boolean): Promise<void> {
    const wait = waiting('')
    const again = button('main', text.retry, () => {
      title.focus()
      void send()
    })
    const change = !doubt && app.basket && button('plain', text.change, () => {
      app.purchases.cancel()
      app.openDetails(quote)
    })
    title.textContent = doubt ? text.doubt : text.buying
    fill(message, [wait.element, change])
    app.say(text.waits(error.retryAfter ?? 5))
    await countDown(error, signal, wait.tick)
    if (signal.aborted) return
    if (waited++ < waits) await send()
    else fill(message, [notice('info', text.explain(error), [], error, again, change)])
  }

  /** Nothing was bought. After a change of price or stock the tickets are priced again. */
  async function refused(error: ServiceError, { quote }: Purchase): Promise<void> {
    if (error.code === 'COMPANY_VERIFICATION_REQUIRED') app.paused = true
    if (!app.basket) return app.openList()
    app.buyer = payload.buyer
    if (error.code !== 'INVENTORY_UNAVAILABLE' && error.code !== 'PRICING_UNAVAILABLE') return app.openDetails(quote, { error })
    try {
      const lines = payload.lines.map(({ tier, quantity }) => ({ tier, quantity }))
      const now = (await app.read('pricing.quote', { eventId: payload.eventId, lines }, signal))?.data
      if (now) app.openDetails(now, samePrices(now, quote) ? { error } : { error, before: quote })
    } catch {
      app.openEvent(app.basket.event) // It shows what is left, or what went wrong.
    }
  }
}
