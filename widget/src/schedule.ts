// When an event happens, in words. A schedule has the date and the clock of the event's own zone, which are shown as
// they are: nothing is converted to the zone of the reader.

import type { Event } from './types.js'

type Schedule = Event['schedule']

/** Returns when an event begins in few words, such as "Tue, 24 Dec 2030, 19:00". Without a date it is empty. */
export function shortSchedule({ date, startsAt }: Schedule): string {
  const at = noon(date, 0)
  return at ? at.toUTCString().slice(0, 16).replace(', 0', ', ') + (startsAt ? ', ' + startsAt : '') : ''
}

/** Returns the day, the times and the zone of an event, each in words. An end at or before the start is on the next day. */
export function longSchedule({ date, startsAt, endsAt, timezone }: Schedule): string[] {
  const first = noon(date, 0)
  if (!first) return []
  if (!startsAt) return [longDay(first)]
  let times = startsAt
  if (endsAt) times += ' to ' + (endsAt > startsAt ? endsAt : `${endsAt} on ${longDay(noon(date, 1)!)}`)
  return [longDay(first), times, zoneName(first, timezone)].filter(Boolean)
}

/** Returns noon in UTC of a day, or of one later. Its date in UTC is what calendars of the event's zone show. */
function noon(date: string | null, later: number): Date | null {
  const at = new Date(`${date}T12:00:00Z`)
  at.setUTCDate(at.getUTCDate() + later)
  return isNaN(+at) ? null : at
}

// Names of our own: the first use of the browser's takes long.
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const months = 'January February March April May June July August September October November December'.split(' ')

function longDay(at: Date): string {
  return `${days[at.getUTCDay()]}, ${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()}`
}

/** Returns the name of a zone at a time. A zone that the browser does not know has its own name. The first call takes long. */
export function zoneName(at: Date, timezone: string | null): string {
  if (!timezone) return ''
  try {
    const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, timeZoneName: 'long' })
    return format.formatToParts(at).find(({ type }) => type === 'timeZoneName')!.value
  } catch {
    return timezone
  }
}
