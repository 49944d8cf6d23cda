// All texts of the widget, in English.

import { isRefusal } from './purchase.js'
import { waitOf } from './read.js'
import type { InventoryTier, ServiceError } from './types.js'

/** Texts that are always the same. The bundler puts each where it is used. */
export const enum Words {
  free = 'Free',
  loading = 'Loading…',
  retry = 'Try again',
  offline = "You're offline. Please check your connection.",
  support = 'For support: ',
  events = 'Events',
  more = 'Show more events',
  noEvents = 'No events on sale',
  later = 'Please come back later.',
  eventsFailed = "The events couldn't be loaded",
  allEvents = 'All events',
  choose = 'Choose tickets',
  about = 'About this event',
  by = 'By ',
  priceFailed = "The price couldn't be loaded",
  tiersFailed = "The tickets couldn't be loaded",
  noTiers = "Tickets aren't on sale yet",
  soldOut = 'Sold out',
  allSold = 'All tickets are sold',
  quantity = 'Quantity: ',
  add = 'Add one ticket: ',
  remove = 'Remove one ticket: ',
  summary = 'Your order',
  nothing = 'No tickets chosen yet.',
  total = 'Total',
  proceed = 'Continue',
  reduced = 'Some tickets were sold while you were looking',
  was = 'was ',
  now = 'now ',
  details = 'Your details',
  change = 'Change tickets',
  email = 'Email',
  emailHint = 'Your tickets are sent to this address.',
  fullname = 'Full name',
  phone = 'Phone',
  wrong = 'Please check your details',
  refused = 'Please check this entry.',
  optional = ' (optional)',
  emailMissing = 'Enter your email address.',
  emailWrong = 'Enter an email address such as name@example.com.',
  paused = 'Sales are paused',
  failed = 'Nothing was bought',
  changed = 'The price has changed',
  changedHint = 'Nothing was bought. Please look at the new price before you buy.',
  buying = 'Completing your order',
  buyingHint = 'Please keep this page open.',
  doubt = "We don't know yet if your order went through",
  doubtHint = "The shop's answer was lost. Check again: it is the same order, so you can't buy twice.",
  check = 'Check again',
  reference = 'If it stays so, quote this to the shop: ',
  leaveHint = 'Tickets may have been bought. If you leave this order, you may pay twice.',
  leave = 'Leave this order',
  refunded = 'Your order was refunded',
  cancelled = 'Your order was cancelled',
  success = 'Your order is confirmed',
  orderNumber = 'Order number',
  next = 'What happens next',
  nextCode = 'Show the code of each ticket at the entrance. It admits one person, once.',
  tickets = 'Tickets',
}

const cannotSell = "Tickets can't be sold right now. Your selection is kept. Please try later."

// What the codes of failures mean to a buyer. None gives a private reason of the company.
const troubles: Record<string, string> = {
  AUTHENTICATION_FAILED: 'Your session has ended. Reload the page and try again.',
  PERMISSION_DENIED: "This page isn't allowed to do that.",
  COMPANY_VERIFICATION_REQUIRED: 'Sales are paused for a short time. Your selection is kept. Please come back later.',
  INSUFFICIENT_FLOAT: cannotSell,
  CHECKOUT_UNAVAILABLE: cannotSell,
  COMMISSION_RATE_UNAVAILABLE: cannotSell,
  NOT_FOUND: 'This event is no longer on sale.',
  INVALID_REQUEST: "The shop didn't accept these details. Please check them.",
  PRICING_UNAVAILABLE: "So many tickets aren't available at one price. Please choose fewer.",
  INVENTORY_UNAVAILABLE: 'These tickets are no longer available at this price.',
}

const noAnswer = "The shop didn't answer. Please try again."

export const waits = (n: number) => `The shop is busy. Trying again in ${n} s.`
const busy = (n: number) => `The shop is busy. Please try again in ${duration(n)}.`
const duration = (n: number) =>
  n > 7200 ? `${Math.ceil(n / 3600)} hours` : n > 60 ? `${Math.ceil(n / 60)} minutes` : `${n} s`
export const region = (brand: string | undefined) => (brand ? `Tickets from ${brand}` : 'Tickets')
export const moreLoaded = (n: number) => `More events: ${n}`
export const left = (n: number) => `Only ${n} left`
export const limit = (n: number) => `At most ${n} tickets in an order.`
export const each = (price: string) => `${price} each`
export const tooLong = (n: number) => `Use at most ${n} characters.`
export const buy = (total: string) => (total === Words.free ? 'Get tickets' : `Buy for ${total}`)
export const agree = (total: string) => (total === Words.free ? 'Agree and get tickets' : `Agree and buy for ${total}`)
export const nextMail = (email: HTMLElement): (string | HTMLElement)[] => ['Your tickets are on their way to ', email, '.']
export const ticketOf = (i: number, n: number) => `Ticket ${i} of ${n}`
export const codeOf = (i: number, n: number) => `QR code of ticket ${i} of ${n}`

/** Returns the name of a tier as people read it: the preset categories of every event have names in capitals. */
export function tierName(tier: string): string {
  if (!/^(GENERAL_ADMISSION|EARLY_BIRD|REGULAR|STUDENT)$/.test(tier)) return tier
  return tier.charAt(0) + tier.slice(1).toLowerCase().replace('_', ' ')
}

/** Returns why a tier is not on sale. */
export function offSale(status: InventoryTier['status']): string {
  return status === 'PAUSED' ? 'Not on sale at the moment' : status === 'CANCELLED' ? 'No longer on sale' : Words.soldOut
}

/**
 * Returns what a failure means to a buyer. What a shop's own hook refuses is explained by the message of that hook, such as
 * PAYMENT_REQUIRED, and each code that is not of the API.
 */
export function explain(error: ServiceError): string {
  if (error.status === 429) return busy(waitOf(error))
  return troubles[error.code] ?? (isRefusal(error) ? error.message : noAnswer)
}
