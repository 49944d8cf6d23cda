// The list of events.

import { el, fill, icon, set } from './dom.js'
import { sleep } from './read.js'
import { shortSchedule, zoneName } from './schedule.js'
import * as text from './text.js'
import { Words } from './text.js'
import type { Event, ServiceError } from './types.js'
import { type App, button, heading, picture, placeOf, showFailure, skeleton, type View, waiting } from './view.js'

/** How many events are rendered at once. */
const atOnce = 4

export function listView(app: App, signal: AbortSignal): View {
  const list = el('ul', 'cards')
  const foot = el('div', 'after')
  const title = heading(Words.events)
  const element = el('div', 'view', title, list, foot)
  const view: View = { element, focus: title, refresh: () => load(null) }
  const shown = new Set<string>()
  const turns = app.turns(signal)
  void load(null)
  return view

  /** Loads the page at a cursor, or the first. */
  async function load(cursor: string | null): Promise<void> {
    const turn = turns()
    const { limit } = app.parts.initialQuery
    const first = !cursor
    const focused = app.focused()
    const wait = waiting(first ? '' : Words.loading)
    set(element, { 'aria-busy': 'true' })
    if (!first || !shown.size) fill(foot, first && skeleton('card', Math.min(limit ?? atOnce, atOnce)), wait.element)
    try {
      const payload = { ...(limit && { limit }), ...(cursor && { cursor }) }
      const envelope = await app.read('events.list', payload, turn, wait.tick)
      if (envelope) {
        await render(envelope.data, envelope.meta.page.nextCursor, first, first ? app.focused() : focused, turn)
      }
    } catch (e) {
      const error = e as ServiceError
      if (cursor && error.code === 'INVALID_CURSOR') return load(null)
      set(element, { 'aria-busy': false })
      showFailure(app, foot, Words.eventsFailed, error, title, () => void load(cursor))
    }
  }

  /** Shows events: at first those that a window may show, and the others between what else the browser has to do. */
  async function render(
    events: Event[], next: string | null, first: boolean, focused: Element | null, turn: AbortSignal,
  ): Promise<void> {
    if (first) {
      shown.clear()
      fill(list)
      view.focus = title
    }
    fill(foot)
    const fresh = events.filter(({ id }) => !shown.has(id) && shown.add(id))
    for (let at = 0; at < fresh.length; at += atOnce) {
      if (at) await sleep(0.02, turn)
      if (turn.aborted) return
      const cards = fresh.slice(at, at + atOnce).map(card)
      list.append(...cards)
      if (!at && !first && focused) cards[0]?.querySelector('button')?.focus()
    }
    fill(
      foot,
      next && button('plain', Words.more, () => void load(next)),
      !shown.size && el('div', 'empty', icon('ticket'), el('p', 'strong', Words.noEvents), el('p', null, Words.later)),
    )
    if (first && focused && !focused.isConnected) {
      ;([...list.querySelectorAll('button')].find(({ id }) => id === focused.id) ?? title).focus()
    }
    set(element, { 'aria-busy': false })
    if (!first) app.say(text.moreLoaded(fresh.length))
    await sleep(0.05, turn)
    if (fresh[0]) zoneName(new Date(), fresh[0].schedule.timezone) // Now, so that no input waits for it.
  }

  function card(event: Event): HTMLElement {
    const open = button('', el('bdi', null, event.title), () => {
      view.focus = open
      app.openEvent(event)
    })
    open.id = 'svc-' + event.id
    const when = shortSchedule(event.schedule)
    const where = placeOf(event).join(', ')
    return el(
      'li', 'card',
      picture(event.imageUrl),
      el('div', 'text', when && el('p', 'muted', when), el('h3', null, open), where && el('p', 'muted', where)),
    )
  }
}
