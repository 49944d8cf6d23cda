// The widget as a person sees it: one view at a time, between the brand's head and foot.

import { loadBasket } from './basket.js'
import { el, fill } from './dom.js'
import { createPurchases } from './purchase.js'
import { read } from './read.js'
import * as text from './text.js'
import type { Brand, Mounted, WidgetParts } from './types.js'
import type { App, View } from './view.js'
import { detailsView } from './viewdetails.js'
import { eventView } from './viewevent.js'
import { listView } from './viewlist.js'
import { purchaseView } from './viewpurchase.js'
import { successView } from './viewsuccess.js'

export function createWidget(parts: WidgetParts): Mounted {
  const life = new AbortController()
  const { store, transport } = parts
  const head = el('header')
  const stage = el('div')
  const foot = el('footer')
  const status = el('div', { class: 'hidden', role: 'status' })
  const connection = el('div', 'offline')
  const section = el('section', { class: 'svc', lang: 'en', 'aria-label': text.region(parts.brand.brandName) },
    head, stage, foot, connection, status)
  let view: View
  let shownBrand = ''
  let leave: AbortController | null = null
  let events: View | null = null

  const app: App = {
    parts,
    purchases: createPurchases(store, transport, life.signal),
    basket: loadBasket(store),
    buyer: { email: '' },
    paused: false,
    read: (operation, payload, signal, onTick = () => {}) => read(transport, operation, payload, signal, onTick),
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
    openList: () => show(() => (events ??= listView(app, life.signal))),
    openEvent: (event) => show((signal) => eventView(app, signal, event)),
    openDetails: (quote, reason) => show((signal) => detailsView(app, signal, quote, reason)),
    openPurchase: () => show((signal) => purchaseView(app, signal, false)),
    openSuccess: (order, email, event) => show((signal) => successView(app, signal, order, email, event)),
  }

  addEventListener('offline', showConnection, { signal: life.signal })
  addEventListener('online', showConnection, { signal: life.signal })
  parts.root.append(section)
  if (app.purchases.open) show((signal) => purchaseView(app, signal, true), false)
  else if (app.basket) show((signal) => eventView(app, signal, app.basket!.event), false)
  else show(() => (events = listView(app, life.signal)), false)
  if (!navigator.onLine) showConnection()

  return {
    async refresh() {
      if (life.signal.aborted) return
      app.paused = false
      await view.refresh?.()
    },
    destroy() {
      life.abort()
      leave?.abort()
      section.remove()
    },
  }

  /** Shows another view. The focus goes there, unless the page has just been loaded. */
  function show(make: (signal: AbortSignal) => View, focus = true): void {
    if (life.signal.aborted) return
    leave?.abort()
    leave = new AbortController()
    view = make(leave.signal)
    showBrand(view.brand ?? parts.brand)
    fill(stage, [view.element])
    if (!focus) return
    ;(view.focus.isConnected ? view.focus : view.element).focus()
    if (section.getBoundingClientRect().top < 0) section.scrollIntoView()
  }

  function showBrand({ brandName, logoUrl, checkoutFooter }: Brand): void {
    const key = JSON.stringify([brandName, logoUrl, checkoutFooter])
    if (key === shownBrand) return
    shownBrand = key
    const logo = logoUrl && el('img', {
      class: 'logo', alt: '', referrerpolicy: 'no-referrer', decoding: 'async',
      error: (event) => (event.target as HTMLElement).classList.add('broken'), src: logoUrl,
    })
    fill(head, [brandName && el('p', 'brand', brandName), logo])
    fill(foot, [checkoutFooter])
  }

  function showConnection(): void {
    fill(connection, [!navigator.onLine && el('p', null, text.offline)])
    app.say(navigator.onLine ? '' : text.offline)
  }
}
