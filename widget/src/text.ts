// All texts of the widget, in English.

import { isRefusal } from './purchase.js'
import type { InventoryTier, ServiceError } from './types.js'


const cannotSell = "Tickets can't be sold right now. Your selection is kept. Please try later."

// What the codes of failures mean to a buyer. None gives a private reason of the company.
const troubles: Record<string, string> = {
  AUTHENTICATION_FAILED: 'Your session has ended. Reload the page and try again.',
  PERMISSION_DENIED: "This page isn't allowed to do that.",
  PAYMENT_REQUIRED: 'The payment is not complete.',
  COMPANY_VERIFICATION_REQUIRED: 'Sales are paused for a short time. Your selection is kept. Please come back later.',
  INSUFFICIENT_FLOAT: cannotSell,
  CHECKOUT_UNAVAILABLE: cannotSell,
  COMMISSION_RATE_UNAVAILABLE: cannotSell,
  NOT_FOUND: 'This event is no longer on sale.',
  INVALID_REQUEST: "The shop didn't accept these details. Please check them.",
  PRICING_UNAVAILABLE: "So many tickets aren't available at one price. Please choose fewer.",
  INVENTORY_UNAVAILABLE: 'These tickets are no longer available at this price.',
  RATE_LIMITED: 'The shop is busy.',
}

const noAnswer = "The shop didn't answer. Please try again."

export const free = 'Free'
export const loading = 'Loading…'
export const retry = 'Try again'
export const offline = "You're offline. This page waits for the connection."
export const waits = (n: number) => `The shop is busy. Trying again in ${n} s.`
export const support = 'For support: '
export const region = (brand: string | undefined) => (brand ? `Tickets from ${brand}` : 'Tickets')

export const events = 'Events'
export const more = 'Show more events'
export const moreLoaded = (n: number) => `More events: ${n}`
export const noEvents = 'No events on sale'
export const later = 'Please come back later.'
export const eventsFailed = "The events couldn't be loaded"

export const allEvents = 'All events'
export const choose = 'Choose tickets'
export const about = 'About this event'
export const by = 'By '
export const tiersFailed = "The tickets couldn't be loaded"
export const noTiers = "Tickets aren't on sale yet"
export const soldOut = 'Sold out'
export const allSold = 'All tickets are sold'
export const left = (n: number) => `Only ${n} left`
export const quantity = 'Quantity: '
export const add = 'Add one ticket: '
export const remove = 'Remove one ticket: '
export const limit = (n: number) => `At most ${n} tickets in an order.`

export const summary = 'Your order'
export const nothing = 'No tickets chosen yet.'
export const total = 'Total'
export const each = (price: string) => `${price} each`
export const pricing = 'Updating the price…'
export const proceed = 'Continue'
export const reduced = 'Some tickets were sold while you were looking'
export const was = 'was '
export const now = 'now '

export const details = 'Your details'
export const change = 'Change tickets'
export const email = 'Email'
export const emailHint = 'Your tickets are sent to this address.'
export const fullname = 'Full name'
export const phone = 'Phone'
export const wrong = 'Please check your details'
export const refused = 'Please check this entry.'
export const optional = ' (optional)'
export const emailMissing = 'Enter your email address.'
export const emailWrong = 'Enter an email address such as name@example.com.'
export const tooLong = (n: number) => `Use at most ${n} characters.`
export const buy = (total: string) => (total === 'Free' ? 'Get tickets' : `Buy for ${total}`)
export const agree = (total: string) => (total === 'Free' ? 'Agree and get tickets' : `Agree and buy for ${total}`)
export const paused = 'Sales are paused'
export const failed = 'Nothing was bought'
export const changed = 'The price has changed'
export const changedHint = 'Nothing was bought. Please look at the new price before you buy.'

export const buying = 'Completing your order'
export const buyingHint = 'Please keep this page open.'
export const doubt = "We don't know yet if your order went through"
export const doubtHint = "The shop's answer was lost. Check again: it is the same order, so you can't buy twice."
export const check = 'Check again'

export const success = 'Your order is confirmed'
export const orderNumber = 'Order number'
export const next = 'What happens next'
export const nextMail = (email: HTMLElement): (string | HTMLElement)[] => ['Your tickets are on their way to ', email, '.']
export const nextCode = 'Show the code of each ticket at the entrance. It admits one person, once.'
export const tickets = 'Tickets'
export const ticketOf = (i: number, n: number) => `Ticket ${i} of ${n}`
export const codeOf = (i: number, n: number) => `QR code of ticket ${i} of ${n}`

/** Returns the name of a tier as people read it: the preset categories of every event have names in capitals. */
export function tierName(tier: string): string {
  if (!/^(GENERAL_ADMISSION|EARLY_BIRD|REGULAR|STUDENT)$/.test(tier)) return tier
  return tier.charAt(0) + tier.slice(1).toLowerCase().replace('_', ' ')
}

/** Returns why a tier is not on sale. */
export function offSale(status: InventoryTier['status']): string {
  return status === 'PAUSED' ? 'Not on sale at the moment' : status === 'CANCELLED' ? 'No longer on sale' : soldOut
}

/**
 * Returns what a failure means to a buyer. A code that a shop's own hook has made is explained by the message of that hook:
 * it is not one of the API.
 */
export function explain(error: ServiceError): string {
  return troubles[error.code] ?? (isRefusal(error) ? error.message : noAnswer)
}
