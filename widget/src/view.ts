// What the views of the widget have in common.

import type { Basket } from './basket.js'
import { el, type Child, fill, icon } from './dom.js'
import type { Buyer, Purchases } from './purchase.js'
import type { OnTick } from './read.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { Brand, Envelopes, Event, Operation, Order, Payloads, PricingQuote, ServiceError, Transport, WidgetParts } from './types.js'

/** One screen of the widget. */
export interface View {
  element: HTMLElement
  /** Gets the focus when the view is shown. */
  focus: HTMLElement
  /** Loads what the view shows once more. */
  refresh?(): Promise<void>
  /** The brand of an order, in place of the page's. */
  brand?: Brand | Order['branding']
}

/** What a view can do. */
export interface App {
  parts: WidgetParts
  purchases: Purchases
  basket: Basket | null
  /** What the buyer last entered. */
  buyer: Buyer
  /** Why buying is off until the page is loaded or refreshed: the company has no current verification. */
  paused: ServiceError | null
  /** Carries one operation, once. */
  transport: Transport
  read<O extends Operation>(
    operation: O, payload: Payloads[O], signal: AbortSignal, onTick?: OnTick,
  ): Promise<Envelopes[O] | null>
  /** Reads what the basket costs now. */
  price(signal: AbortSignal, onTick?: OnTick): Promise<PricingQuote | undefined>
  /** Returns a function that ends what its last call began, and returns the signal of what begins now. */
  turns(signal: AbortSignal): () => AbortSignal
  /** The element of the widget that has the focus, or null. */
  focused(): Element | null
  /** Says a text to who uses a screen reader. */
  say(text: string): void
  openList(reason?: Reason): void
  openEvent(event: Event, reason?: Reason): void
  openDetails(quote: PricingQuote, reason?: Reason): void
  openPurchase(): void
  openSuccess(order: Order, email: string, event: Event | null): void
}

/** Why a view is shown again. */
export interface Reason {
  /** Nothing was bought because of it. */
  error: ServiceError | null
  /** What the buyer had agreed to, if prices have changed since. */
  before?: PricingQuote
}

/** Adds the class and attributes of a heading that gets the focus. */
export function heading(...children: Child[]): HTMLHeadingElement {
  return el('h2', { tabindex: -1, class: 'title' }, ...children)
}

export function button(kind: 'main' | 'plain' | 'link' | '', label: Child, onClick: () => void): HTMLButtonElement {
  return el('button', { type: 'button', class: kind, click: () => onClick() }, label)
}

/** The way back to another view. */
export function back(label: string, onClick: () => void): HTMLElement {
  const link = button('link', label, onClick)
  link.prepend(icon('back'))
  return link
}

/** A line about a read on its way: a text, and in its place how long a wait takes. */
export function waiting(words: string): { element: HTMLElement; tick: OnTick } {
  const element = el('p', 'wait muted', words)
  return { element, tick: (left) => (element.textContent = left ? text.waits(left) : words) }
}

/** A message in the page. A failure ends with its request id, which helps those who are asked about it. */
export function notice(
  kind: 'info' | 'bad', title: string, hints: Child[], error?: ServiceError | null, ...actions: Child[]
): HTMLElement {
  return el(
    'div', { class: 'notice ' + kind, tabindex: -1 },
    icon('alert'),
    el(
      'div', null,
      el('p', 'strong', title),
      ...hints.map((hint) => hint && el('p', null, hint)),
      error?.requestId && el('p', 'support', Words.support, el('bdi', 'mono', error.requestId)),
      actions.length > 0 && el('p', 'actions', ...actions),
    ),
  )
}

/** Shows the message of a failed read. Its button leads the focus elsewhere, since it leaves with the message. */
export function showFailure(
  app: App, place: Element, title: string, error: ServiceError, focus: HTMLElement, retry: () => void,
): void {
  fill(place, notice('bad', title, [text.explain(error)], error, button('plain', Words.retry, () => {
    focus.focus()
    retry()
  })))
  app.say(title)
}

/** The message of why a view is shown again, or of why nothing can be bought. */
export function reasonNotice({ paused }: App, { error, before }: Reason): HTMLElement | null {
  if (paused) return notice('info', Words.paused, [error && Words.failed + '.', text.explain(paused)], paused)
  if (before) return notice('info', Words.changed, [Words.changedHint], error)
  return error ? notice('bad', Words.failed, [text.explain(error)], error) : null
}

/** A picture that keeps its place where it is blocked or missing. The text beside it says the same. */
export function picture(url: string): HTMLElement {
  const image = el('img', {
    alt: true, loading: 'lazy', referrerpolicy: 'no-referrer', error: () => image.remove(), src: url,
  })
  return el('div', 'picture', icon('ticket'), image)
}

/** Returns where an event is, from the narrower to the wider. */
export function placeOf({ location: { venue, name } }: Event): string[] {
  return [venue, name].filter((place): place is string => Boolean(place))
}

/** Grey bars in place of what is being loaded. */
export function skeleton(kind: 'card' | 'tier', count: number): HTMLElement {
  const rows = Array.from({ length: count }, () =>
    el('li', kind, kind === 'card' && el('div', 'picture'), el('div', 'bars', el('i'), el('i'), el('i'))),
  )
  return el('ul', { class: kind + 's skeleton', 'aria-hidden': 'true' }, ...rows)
}
