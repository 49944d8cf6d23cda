// What a buyer has chosen: tickets of one event. It is kept in the store, so that a reload does not lose it.

import type { Event, Store } from './types.js'

/** The largest number of tickets in an order. */
export const mostTickets = 50

const name = 'basket'

export interface Basket {
  /** A random text. The idempotency key of a purchase is made of it and of what is bought. */
  seed: string
  event: Event
  /** How many tickets of each tier, all above zero. */
  quantities: [tier: string, quantity: number][]
}

export function newBasket(event: Event): Basket {
  return { seed: randomText(), event, quantities: [] }
}

export function quantityOf(basket: Basket, tier: string): number {
  return basket.quantities.find(([name]) => name === tier)?.[1] ?? 0
}

export function countOf(basket: Basket): number {
  return basket.quantities.reduce((sum, [, quantity]) => sum + quantity, 0)
}

/** Sets how many tickets of a tier a basket has. */
export function setQuantity(basket: Basket, tier: string, quantity: number): void {
  const others = basket.quantities.filter(([name]) => name !== tier)
  if (quantity > 0) others.push([tier, quantity])
  basket.quantities = others.sort(([a], [b]) => (a < b ? -1 : 1))
}

export function linesOf(basket: Basket): { tier: string; quantity: number }[] {
  return basket.quantities.map(([tier, quantity]) => ({ tier, quantity }))
}

/** Returns the basket that the store has, or null. */
export function loadBasket(store: Store): Basket | null {
  const kept = parse<Basket>(store.get(name))
  return kept && kept.seed && kept.event?.id && kept.event.schedule && kept.quantities?.length ? kept : null
}

/** Keeps a basket. An empty one is removed, and so is none. */
export function saveBasket(store: Store, basket: Basket | null): void {
  if (basket?.quantities.length) store.set(name, JSON.stringify(basket))
  else store.remove(name)
}

/** Returns what a stored text means, or null if it is not what this version has written. */
export function parse<T>(stored: string | null): T | null {
  try {
    return stored ? (JSON.parse(stored) as T | null) : null
  } catch {
    return null
  }
}

/** Returns a random text of 128 bits. crypto.randomUUID is missing on pages without HTTPS. */
function randomText(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
