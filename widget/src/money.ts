// Amounts: texts of major units with two decimals, such as "5000.00". They are never floating-point numbers.

import { Words } from './text.js'

/** Returns an amount as people write it: "₦5,000", "₦5,000.50", and "Free" for nothing. */
export function formatMoney(amount: string): string {
  if (amount === '0.00') return Words.free
  const [whole = '', kobo] = amount.split('.')
  return '₦' + whole.replace(/\B(?=(\d{3})+$)/g, ',') + (kobo === '00' ? '' : '.' + kobo)
}
