// The forms of values: of options, of what a transport returns, and of what comes through a channel.

/** Returns a copy of a value that has the right form, and throws otherwise. An error names the path, never the value. */
export type Form<T = unknown> = (value: unknown, path: string) => T

export const credentialValue = /svc_live\.|svc_whsec_|^\s*bearer\s+\S+\s*$|\bbearer\s+[\w.~+/=-]{16}/i

export function refuse(path: string, reason = 'is missing or malformed'): never {
  throw new TypeError(`ServiceEmbedsV1: ${path} ${reason}`)
}

export function matches(pattern: RegExp, value: unknown): value is string {
  return typeof value == 'string' && pattern.test(value)
}

/** The form of what can be made of a value: of one for which it throws, or makes undefined, nothing can. */
export const from =
  <T>(make: (value: never) => T | undefined, reason?: string): Form<T> =>
  (value, path) => {
    let made: T | undefined
    try {
      made = make(value as never)
    } catch {}
    return made === undefined ? refuse(path, reason) : made
  }

export const is = <T>(holds: (value: unknown) => unknown, reason?: string): Form<T> =>
  from((value: T) => (holds(value) ? value : undefined), reason)

export const pattern = (expression: RegExp, reason?: string): Form<string> => is((value) => matches(expression, value), reason)

/** A text that an expression describes. It counts code points, as the contract does. */
const whole = (expression: string, reason?: string): Form<string> => pattern(RegExp(`^${expression}$`, 'u'), reason)

export const text = (limit: number): Form<string> => whole(`[^]{0,${limit}}`)

/** One line of text: not blank, without control characters. */
export const line = (limit: number): Form<string> =>
  whole(`(?=.*\\S)[^\\0-\\x1f\\x7f-\\x9f]{1,${limit}}`, `must be one line of 1 to ${limit} characters`)

/** An absolute HTTPS URL with a host, without credentials and fragment. */
export const webURL = (limit: number): Form<string> =>
  whole(
    `(?=[^]{0,${limit}}$)[Hh][Tt][Tt][Pp][Ss]://[^\\s/?#\\\\@]+([/?][^\\s#\\\\]*)?`,
    'must be an HTTPS URL without credentials and fragment',
  )

export const color = pattern(/^#[\da-f]{6}$/i, 'must be # and six hexadecimal digits')

export const one = <T>(...values: T[]): Form<T> => is((value) => values.includes(value as T))

export const integer = (least: number, most: number): Form<number> =>
  is(
    (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    `must be an integer from ${least} to ${most}`,
  )

const or =
  <N extends null | undefined>(none: N) =>
  <T>(form: Form<T>): Form<T | N> =>
  (value, path) =>
    value === none ? none : form(value, path)

export const nullable = or(null)
export const optional = or(undefined)

export const list =
  <T>(item: Form<T>, least: number, most: number): Form<T[]> =>
  (value, path) =>
    Array.isArray(value) && value.length >= least && value.length <= most
      ? Array.from(value, (each, i) => item(each, `${path}[${i}]`))
      : refuse(path)

/** An object with these members and no other. Getters are refused, and not called. */
export const object =
  (members: Record<string, Form>): Form<Record<string, unknown>> =>
  (value, path) => {
    if (typeof value != 'object' || !value || Array.isArray(value)) refuse(path || 'the value')
    const copy: Record<string, unknown> = {}
    for (const key of Reflect.ownKeys(value)) {
      if (!Object.hasOwn(members, key)) refuse(join(path, key), 'is not expected')
    }
    for (const name in members) {
      const at = join(path, name)
      const own = Object.getOwnPropertyDescriptor(value, name)
      if (own?.get) refuse(at)
      const member = members[name]!(own?.value, at)
      if (member !== undefined) copy[name] = member
    }
    return copy
  }

/** Reports whether a value has a form. */
export function conforms(form: Form, value: unknown): boolean {
  try {
    form(value, '')
    return true
  } catch {
    return false
  }
}

/** Returns the path of a member. A name that may be a secret is not repeated. */
export function join(path: string, key: string | symbol): string {
  const name = typeof key == 'symbol' || credentialValue.test(key) ? '(a name)' : key.slice(0, 60)
  return path ? `${path}.${name}` : name
}
