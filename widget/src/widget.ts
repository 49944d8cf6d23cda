// The widget as a person sees it: one view at a time, between the brand's head and foot.

import { loadBasket } from './basket.js'
import { el, fill } from './dom.js'
import { createPurchases } from './purchase.js'
import { read } from './read.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { Mounted, ServiceError, Transport, WidgetParts } from './types.js'
import { type App, type Reason, reasonNotice, type View } from './view.js'
import { detailsView } from './viewdetails.js'
import { eventView } from './viewevent.js'
import { listView } from './viewlist.js'
import { purchaseView } from './viewpurchase.js'
import { successView } from './viewsuccess.js'

export function createWidget(parts: WidgetParts): Mounted {
  const life = new AbortController()
  const { store } = parts
  const head = el('header')
  const stage = el('div')
  const foot = el('footer')
  const status = el('div', { class: 'hidden', role: 'status' })
  const connection = el('div', 'offline')
  const section = el('section', { class: 'svc', lang: 'en', 'aria-label': text.region(parts.brand.brandName) },
    head, connection, stage, foot, status)
  let view: View
  let message: HTMLElement | null = null
  let lost = false // What was last sent or heard of shows no connection.
  let shownBrand: View['brand']
  let leave: AbortController | null = null
  let events: View | null = null

  const transport: Transport = async (operation, payload) => {
    try {
      const envelope = await parts.transport(operation, payload)
      showConnection(false)
      return envelope
    } catch (error) {
      showConnection(!(error as ServiceError).status && !navigator.onLine)
      throw error
    }
  }
  const app: App = {
    parts,
    transport,
    purchases: createPurchases(store, transport, life.signal),
    basket: loadBasket(store),
    buyer: { email: '' },
    paused: null,
    read: (operation, payload, signal, onTick = () => {}) => read(transport, operation, payload, signal, onTick),
    price: async (signal, onTick) =>
      (await app.read('pricing.quote', { eventId: app.basket!.event.id, lines: app.basket!.lines }, signal, onTick))?.data,
    turns(signal) {
      let turn = new AbortController()
      signal.addEventListener('abort', () => turn.abort())
      return () => {
        turn.abort()
        turn = new AbortController()
        return turn.signal
      }
    },
    focused: () => (section.getRootNode() as ShadowRoot).activeElement,
    say(words) {
      // The same words twice are only said twice if the text changes.
      status.textContent = status.textContent === words ? words + '\u00a0' : words
    },
    openList: (reason) => show(() => (events ??= listView(app, life.signal)), reason),
    openEvent: (event, reason) => show((signal) => eventView(app, signal, event), reason),
    openDetails: (quote, reason) => show((signal) => detailsView(app, signal, quote, reason), reason),
    openPurchase: () => show((signal) => purchaseView(app, signal, false)),
    openSuccess: (order, email, event) => show((signal) => successView(app, signal, order, email, event)),
  }

  for (const name of ['online', 'offline']) {
    addEventListener(name, () => showConnection(!navigator.onLine), { signal: life.signal })
  }
  parts.root.append(section)
  if (app.purchases.open) show((signal) => purchaseView(app, signal, true), undefined, false)
  else if (app.basket) show((signal) => eventView(app, signal, app.basket!.event), undefined, false)
  else show(() => (events = listView(app, life.signal)), undefined, false)

  return {
    async refresh() {
      if (life.signal.aborted) return
      if (app.paused) message?.remove()
      app.paused = null
      await view.refresh?.()
    },
    destroy() {
      life.abort()
      leave?.abort()
      section.remove()
    },
  }

  /** Shows another view, below why it is shown. The focus goes there, unless the page has just been loaded. */
  function show(make: (signal: AbortSignal) => View, reason?: Reason, focus = true): void {
    if (life.signal.aborted) return
    leave?.abort()
    leave = new AbortController()
    view = make(leave.signal)
    showBrand(view.brand ?? parts.brand)
    message = reasonNotice(app, reason ?? { error: null })
    fill(stage, message, view.element)
    if (!focus) return
    ;((reason && message) || (view.focus.isConnected ? view.focus : view.element)).focus()
    if (section.getBoundingClientRect().top < 0) section.scrollIntoView()
  }

  function showBrand(brand: NonNullable<View['brand']>): void {
    if (brand === shownBrand) return
    shownBrand = brand
    const { brandName, logoUrl, checkoutFooter } = brand
    const logo = logoUrl && el('img', {
      class: 'logo', alt: true, referrerpolicy: 'no-referrer',
      error: (event) => (event.target as HTMLElement).classList.add('broken'), src: logoUrl,
    })
    fill(head, brandName && el('p', 'brand', brandName), logo)
    fill(foot, checkoutFooter)
  }

  function showConnection(isLost: boolean): void {
    if (isLost === lost) return
    lost = isLost
    fill(connection, lost && el('p', null, Words.offline))
    app.say(lost ? Words.offline : '')
  }
}
