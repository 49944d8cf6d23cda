// An event: what it is, its tickets, and what the chosen ones cost.

import { countOf, mostTickets, newBasket, quantityOf, saveBasket, setQuantity } from './basket.js'
import { el, fill, icon, set, user } from './dom.js'
import { formatMoney } from './money.js'
import { isOutdated } from './purchase.js'
import { sleep } from './read.js'
import { longSchedule } from './schedule.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { Event, InventoryTier, PricingQuote, ServiceError } from './types.js'
import { type App, back, button, heading, notice, picture, placeOf, showFailure, skeleton, type View, waiting } from './view.js'
import { summary } from './viewsummary.js'

/** How long the quantities must rest before they are priced, in seconds. */
const quoteDelay = 0.25

/** From which number of tickets on the stock is not shown. */
const plenty = 10

export function eventView(app: App, signal: AbortSignal, event: Event): View {
  const basket = app.basket?.event.id === event.id ? app.basket : newBasket(event)
  const title = heading(event.title)
  const offer = el('div')
  const lines = el('div')
  const message = el('div') // what was sold meanwhile
  const trouble = el('div') // why there is no price
  const wait = waiting('')
  const proceed = button('main', Words.proceed, next)
  const order = el('section', 'order', el('h3', null, Words.summary), lines, proceed, wait.element, message, trouble)
  const side = el('div', 'side', el('section', null, el('h3', null, Words.choose), offer))
  const about = event.description && el('section', 'about', el('h3', null, Words.about), el('p', null, event.description))
  const element = el(
    'article', 'view event',
    el('div', null, back(Words.allEvents, () => app.openList()), picture(event.imageUrl), title, facts(event)),
    side,
  )
  const turns = app.turns(signal)
  let updates: (() => void)[] = []
  let quote: PricingQuote | null = null
  let wanted = false // Continue was pressed before the price was there.
  void load()
  return { element, focus: title, refresh: load }

  async function load(): Promise<void> {
    const busy = waiting('')
    set(element, { 'aria-busy': 'true' })
    if (!updates.length) fill(offer, skeleton('tier', 3), busy.element)
    try {
      const stock = await inventory(busy.tick)
      if (stock) render(stock)
    } catch (e) {
      updates = []
      order.remove()
      showFailure(app, offer, Words.tiersFailed, e as ServiceError, title, () => void load())
    }
    set(element, { 'aria-busy': false })
  }

  async function inventory(tick: (left: number) => void): Promise<InventoryTier[] | undefined> {
    return (await app.read('events.inventory', { eventId: event.id }, signal, tick))?.data
  }

  /** Shows the tickets, and takes out of the basket what is sold by now. */
  function render(stock: InventoryTier[]): void {
    const focused = app.focused()?.id
    const reduced = []
    for (const { tier, quantity } of basket.lines) {
      const left = Math.min(quantity, leftOf(stock, tier))
      if (left < quantity) reduced.push(el('span', null, user(text.tierName(tier)), `: ${Words.was}${quantity}, ${Words.now}${left}`))
      setQuantity(basket, tier, left)
    }
    updates = []
    fill(
      offer,
      !stock.length ? notice('info', Words.noTiers, [Words.later])
      : stock.every(({ status }) => status === 'SOLD_OUT') && notice('info', Words.allSold, []),
      el('ul', 'tiers', ...stock.map(row)),
    )
    if (stock.some(available)) side.append(order)
    else order.remove()
    if (about) element.append(about)
    if (focused) side.querySelector<HTMLElement>('#' + focused)?.focus()
    if (reduced.length) {
      fill(message, notice('info', Words.reduced, reduced))
      app.say(Words.reduced)
    }
    changed(0)
  }

  function row(tier: InventoryTier, at: number): HTMLElement {
    const name = text.tierName(tier.tier)
    const stock = available(tier)
    const hint = el('p', { class: 'hint', id: `svc-h${at}` })
    const input = el('input', {
      type: 'number', inputmode: 'numeric', min: 0, max: Math.min(stock, mostTickets), id: `svc-n${at}`,
      'aria-label': Words.quantity + name, 'aria-describedby': hint.id,
      change: () => choose(parseInt(input.value, 10) || 0), focus: () => input.select(),
    })
    const step = (by: number, label: string) =>
      el('button', {
        type: 'button', 'aria-label': label + name, id: `svc${by}-${at}`, click: () => choose(quantity() + by),
      }, by < 0 ? '−' : '+')
    const less = step(-1, Words.remove)
    const more = step(1, Words.add)
    const element = el(
      'li', 'tier',
      el('div', 'text',
        el('p', 'name', name),
        tier.unitPrice && el('p', null, formatMoney(tier.unitPrice.amount)),
        stock > 0 && stock < plenty && el('p', 'badge', text.left(stock))),
      stock ? el('div', 'stepper', less, input, more)
      : el('p', 'badge', text.offSale(tier.status)),
      hint,
    )
    const quantity = () => quantityOf(basket, tier.tier)
    const most = () => Math.min(stock, mostTickets - countOf(basket) + quantity())
    const update = () => {
      input.value = '' + quantity()
      set(less, { 'aria-disabled': '' + !quantity() })
      set(more, { 'aria-disabled': '' + (quantity() >= most()) })
      element.classList.toggle('chosen', quantity() > 0)
    }
    const choose = (n: number) => {
      const to = Math.max(0, Math.min(n, most()))
      const limit = n > to && (stock > to ? text.limit(mostTickets) : text.left(stock))
      fill(hint, limit)
      if (limit) app.say(limit)
      if (to === quantity()) return update()
      setQuantity(basket, tier.tier, to)
      fill(message)
      changed(quoteDelay)
    }
    updates.push(update)
    return element
  }

  /** Keeps and shows the basket, and prices it after a delay. */
  function changed(delay: number): void {
    const count = countOf(basket)
    if (count || app.basket === basket) {
      app.basket = basket
      saveBasket(app.parts.store, basket)
    }
    updates.forEach((update) => update())
    show(null)
    wanted = false
    fill(trouble)
    set(proceed, { 'aria-disabled': '' + !count })
    const turn = turns()
    wait.tick(0)
    if (count) void price(delay, turn)
  }

  function show(priced: PricingQuote | null): void {
    quote = priced
    fill(lines, countOf(basket) ? summary(basket.lines, quote) : el('p', 'muted', Words.nothing))
  }

  async function price(delay: number, turn: AbortSignal): Promise<void> {
    if (delay) await sleep(delay, turn)
    try {
      const priced = await app.price(turn, wait.tick)
      if (!priced) return
      show(priced)
      app.say(`${Words.total}: ${formatMoney(priced.total.amount)}`)
      if (wanted) next()
    } catch (e) {
      const error = e as ServiceError
      if (isOutdated(error)) {
        const stock = await inventory(wait.tick).catch(() => undefined)
        if (turn.aborted) return
        if (stock && basket.lines.some(({ tier, quantity }) => quantity > leftOf(stock, tier))) return render(stock)
      }
      wanted = false
      showFailure(app, trouble, Words.priceFailed, error, proceed, () => changed(0))
    }
  }

  function next(): void {
    if (quote) app.openDetails(quote)
    else wanted = countOf(basket) > 0
  }
}

function leftOf(stock: InventoryTier[], name: string): number {
  return available(stock.find(({ tier }) => tier === name))
}

/** Returns how many tickets of a tier can be bought now. */
function available(tier?: InventoryTier): number {
  return tier?.status === 'AVAILABLE' && tier.unitPrice ? tier.availableQuantity : 0
}

function facts(event: Event): HTMLElement {
  const fact = (name: 'date' | 'place' | 'ticket', rows: (Node | string)[]) =>
    rows.length > 0 && el('li', null, icon(name), el('div', null, ...rows.map((row) => el('p', null, row))))
  return el('ul', 'facts',
    fact('date', longSchedule(event.schedule)),
    fact('place', placeOf(event)),
    event.organizerName && fact('ticket', [el('span', null, Words.by, user(event.organizerName))]))
}
