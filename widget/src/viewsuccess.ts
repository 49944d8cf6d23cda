// The order: what was bought, and the codes that the entrance scans.

import { el, icon, set, svg, user } from './dom.js'
import { formatMoney } from './money.js'
import { admissionCode, codePath, codeSize } from './qr.js'
import { sleep } from './read.js'
import { shortSchedule } from './schedule.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { Event, Order } from './types.js'
import { type App, button, heading, placeOf, type View } from './view.js'

export function successView(app: App, signal: AbortSignal, order: Order, email: string, event: Event | null): View {
  const { lines } = order
  let drawn = sleep(0.05, signal)
  const valid = order.status === 'CONFIRMED'
  const title = heading(valid ? Words.success : order.status === 'REFUNDED' ? Words.refunded : Words.cancelled)
  const tickets = lines.map((line, i) => {
    const code = admissionCode(order.eventId, line.admissionId)
    return el(
      'li', 'ticket',
      drawing(code, text.codeOf(i + 1, lines.length)),
      el('div', null,
        el('p', 'muted', text.ticketOf(i + 1, lines.length)),
        el('p', 'name', line.title),
        el('p', null, user(text.tierName(line.tier)), ' · ', formatMoney(line.unitPrice.amount)),
        el('p', 'mono muted', code)),
    )
  })
  const element = el(
    'div', 'view success',
    el('div', 'done', icon(valid ? 'done' : 'alert')),
    title,
    event && el('div', null, el('p', 'name', event.title), ...[shortSchedule(event.schedule), ...placeOf(event)].map((row) => el('p', 'muted', row))),
    el('dl', 'facts',
      el('div', null, el('dt', null, Words.orderNumber), el('dd', 'mono', el('bdi', null, order.id))),
      el('div', null, el('dt', null, Words.total), el('dd', null, formatMoney(order.gross.amount)))),
    valid && el('section', 'next', el('h3', null, Words.next),
      email && el('p', null, icon('mail'), el('span', null, ...text.nextMail(user(email)))),
      el('p', null, icon('ticket'), el('span', null, Words.nextCode))),
    valid && el('section', null, el('h3', null, Words.tickets), el('ol', 'tickets', ...tickets)),
    button('plain', Words.allEvents, () => app.openList()),
  )
  return { element, focus: title, brand: order.branding }

  /** Draws a code black on white, in any color scheme. It is drawn after the view is shown, since that takes a while. */
  function drawing(code: string, label: string): SVGSVGElement {
    const made = svg(codeSize, { class: 'code', role: 'img', 'aria-label': label, 'shape-rendering': 'crispEdges' }, {})
    drawn = drawn.then(() => sleep(0, signal)).then(() => set(made.firstElementChild!, { d: codePath(code) }))
    return made
  }
}
