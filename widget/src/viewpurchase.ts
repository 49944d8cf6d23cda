// A purchase on its way: being sent, waiting, or in doubt. Basket and buyer cannot be changed here.

import { type Child, el, fill, set, user } from './dom.js'
import { isOutdated, isRefusal } from './purchase.js'
import { countDown, waitOf } from './read.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { ServiceError } from './types.js'
import { type App, button, heading, notice, type View, waiting } from './view.js'
import { samePrices, summary } from './viewsummary.js'

/** Shows the open purchase. It is sent at once, unless it was begun before the page was loaded. */
export function purchaseView(app: App, signal: AbortSignal, resumed: boolean): View {
  const { purchases, basket } = app
  const title = heading(Words.buying)
  const message = el('div', 'message')
  const { payload, quote } = purchases.open!
  const element = el(
    'div', 'view purchase', title, message,
    el('section', 'order', el('h3', null, Words.summary),
      el('p', 'muted', user(payload.buyer.email)),
      summary(payload.lines, quote)),
  )
  let waited = 0
  let checked = false // The buyer has asked what became of a doubtful purchase.
  if (resumed) showDoubt(null)
  else void send()
  return { element, focus: title }

  /** Shows what goes on. The focus does not leave with what was there before. */
  function show(words: string, ...children: Child[]): void {
    const focused = message.contains(app.focused())
    title.textContent = words
    fill(message, ...children)
    if (focused) title.focus()
  }

  async function send(): Promise<void> {
    set(element, { 'aria-busy': 'true' })
    show(Words.buying, el('p', 'busy', Words.buyingHint))
    const { order, error } = await purchases.send()
    if (signal.aborted) return
    set(element, { 'aria-busy': false })
    if (order) {
      app.basket = app.paused = null
      app.buyer = { email: '' }
      return app.openSuccess(order, payload.buyer.email, basket?.event ?? null)
    }
    if (error.code === 'COMPANY_VERIFICATION_REQUIRED') app.paused = error
    if (!purchases.open) await refused(error)
    else if (error.status === 429) await showWait(error)
    else showDoubt(error)
  }

  /** The way on is the same key with the same body. A buyer who has tried that may leave. */
  function showDoubt(error: ServiceError | null): void {
    const check = button('main', Words.check, () => {
      checked = true
      void send()
    })
    show(
      Words.doubt,
      notice('info', Words.doubtHint, [
        error && isRefusal(error) && text.explain(error),
        checked && el('span', null, Words.reference, el('bdi', 'mono', payload.idempotencyKey)),
        checked && Words.leaveHint,
      ], error, check, checked && button('plain', Words.leave, leave)),
    )
    app.say(Words.doubt)
  }

  /** Ends the purchase. The same basket for the same buyer has the same key, so it is the same order. */
  function leave(): void {
    purchases.end()
    app.buyer = payload.buyer
    if (basket) app.openEvent(basket.event)
    else app.openList()
  }

  async function showWait(error: ServiceError): Promise<void> {
    const { doubt } = purchases
    const words = doubt ? Words.doubt : Words.buying
    const wait = waiting('')
    const change = !doubt && basket && button('plain', Words.change, () => {
      purchases.end()
      app.openDetails(quote)
    })
    show(words, wait.element, change)
    app.say(text.waits(waitOf(error)))
    const again = await countDown(error, waited++, signal, wait.tick)
    if (signal.aborted) return
    if (again) await send()
    else show(words, notice('info', text.explain(error), [], error, button('main', Words.retry, () => void send()), change))
  }

  /** Nothing was bought. After a change of price or stock the tickets are priced again. */
  async function refused(error: ServiceError): Promise<void> {
    if (!basket) return app.openList({ error })
    app.buyer = payload.buyer
    if (!isOutdated(error)) return app.openDetails(quote, { error })
    try {
      const now = await app.price(signal)
      if (now) app.openDetails(now, samePrices(now, quote) ? { error } : { error, before: quote })
    } catch {
      app.openEvent(basket.event, { error }) // It shows what is left, or what went wrong.
    }
  }
}
