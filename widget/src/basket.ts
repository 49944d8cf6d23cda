// What a buyer has chosen: tickets of one event. It is kept in the store, so that a reload does not lose it.

import { type Form, integer, list, object, pattern, text } from './form.js'
import { event } from './schema.js'
import type { Event, Store } from './types.js'

/** The largest number of tickets in an order. */
export const mostTickets = 50

const name = 'basket'

export interface Basket {
  /** Random digits. The idempotency key of a purchase is made of it and of what is bought. */
  seed: string
  event: Event
  /** The tiers of which there are any, by their names. */
  lines: { tier: string; quantity: number }[]
}

const line = object({ tier: text(60), quantity: integer(1, mostTickets) })
const form = object({ seed: pattern(/^\d+$/), event, lines: list(line, 1, mostTickets) })

export function newBasket(event: Event): Basket {
  return { seed: randomDigits(), event, lines: [] }
}

export function quantityOf(basket: Basket, tier: string): number {
  return basket.lines.find((line) => line.tier === tier)?.quantity ?? 0
}

export function countOf(basket: Basket): number {
  return basket.lines.reduce((sum, { quantity }) => sum + quantity, 0)
}

/** Sets how many tickets of a tier a basket has. */
export function setQuantity(basket: Basket, tier: string, quantity: number): void {
  const lines = basket.lines.filter((line) => line.tier !== tier)
  if (quantity > 0) lines.push({ tier, quantity })
  basket.lines = lines.sort((a, b) => (a.tier < b.tier ? -1 : 1))
}

/** Returns the basket that the store has, or null. */
export function loadBasket(store: Store): Basket | null {
  return load(store, name, form)
}

/** Keeps a basket. An empty one is removed, and so is none. */
export function saveBasket(store: Store, basket: Basket | null): void {
  if (basket?.lines.length) store.set(name, JSON.stringify(basket))
  else store.remove(name)
}

/** Returns what is stored by a name, or null. What is not of the form is removed. */
export function load<T>(store: Store, name: string, form: Form): T | null {
  try {
    return form(JSON.parse(store.get(name)!), '') as T
  } catch {
    store.remove(name)
    return null
  }
}

/** Returns random digits, which nobody can guess. crypto.randomUUID is missing on pages without HTTPS. */
function randomDigits(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('')
}
