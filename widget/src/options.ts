// The rules of the options (section 4.13). No error repeats a value: it may be a secret.

import { credentialValue, integer, is, join, matches, object, optional, pattern, refuse, webURL, type Form } from './form.js'
import type { Brand, MountIframeOptions, MountOptions } from './types.js'

type Checked<Options> = Omit<Options, 'target' | 'brand' | 'initialQuery'> & {
  target: Element
  brand: Brand
  initialQuery: { limit?: number }
}

/** One line of text: not blank, without control characters. */
const line = (limit: number): Form<string> =>
  pattern(`^(?=.*\\S)[^\\0-\\x1f\\x7f-\\x9f]{1,${limit}}$`, `must be one line of 1 to ${limit} characters`)

const color = optional(pattern(/^#[\da-f]{6}$/, 'must be # and six hexadecimal digits'))

/** Checks a brand: in the frame, too, where it comes from the page. */
export const brand = object({
  brandName: optional(line(120)),
  logoUrl: optional(webURL(2048)),
  primaryColor: color,
  accentColor: color,
  checkoutFooter: optional(line(500)),
}) as Form<Brand>

/** Checks the query of the first list of events. */
export const initialQuery = object({ limit: optional(integer(1, 100)) }) as Form<{ limit?: number }>

const target: Form<Element> = (value, path) => {
  let element = value as Element | null
  if (typeof value == 'string') {
    try {
      element = document.querySelector(value)
    } catch {
      element = null
    }
  }
  return element?.nodeType == 1 && element.isConnected ? element : refuse(path, 'finds no element')
}

const embedUrl = is<string>(
  (value) => matches(/^https:[^?#@]+\/embed\/v1\/events$/, value) && parseURL(value)?.href == value,
  'must be an HTTPS URL that ends in /embed/v1/events',
)

const assetBase: Form<string> = (value, path) => {
  const url = parseURL(value)?.href
  return matches(/^https?:\/\/[^/?#@]+\/[^?#]*$/, url) ? url.replace(/\/?$/, '/') : refuse(path)
}

const common = {
  target,
  transport: is((value) => typeof value == 'function'),
  initialQuery: optional(initialQuery),
  brand: optional(brand),
}

const ofMount = object({ ...common, assetBase: optional(assetBase), styleNonce: optional(pattern('^[\\w+/=-]{1,256}$')) })
const ofIframe = object({ ...common, embedUrl, title: optional(line(200)) })

/** Returns the checked options of mount, as they are now: a later change of the object changes nothing. */
export const checkMount = (options: unknown): Checked<MountOptions> => check(options, ofMount)

/** Returns the checked options of mountIframe. */
export const checkIframe = (options: unknown): Checked<MountIframeOptions> => check(options, ofIframe)

function check<Options>(options: unknown, form: Form): Options {
  refuseCredentials(options)
  return { initialQuery: {}, brand: {}, ...(form(options, '') as object) } as Options
}

/** Refuses what looks like a credential, at any depth, by the name of the option. */
function refuseCredentials(options: unknown): void {
  const reason = 'looks like a credential'
  const names = /apikey|authori[sz]|token|secret|passw|credential|privatekey|bearer/
  const seen = new Set<unknown>()
  let count = 0
  const walk = (value: unknown, path: string): void => {
    if (typeof value == 'string' && credentialValue.test(value)) refuse(path, reason)
    if (typeof value != 'object' || !value || seen.has(value)) return
    seen.add(value)
    for (const key of Reflect.ownKeys(value)) {
      const at = join(path, key)
      const name = typeof key == 'string' ? key : (key.description ?? '')
      if (++count > 999) refuse(at)
      if (names.test(name.toLowerCase().replace(/[^a-z]/g, '')) || credentialValue.test(name)) refuse(at, reason)
      const own: unknown = Object.getOwnPropertyDescriptor(value, key)?.value
      if (at != 'target' || typeof own == 'string') walk(own, at)
    }
  }
  walk(options, '')
}

function parseURL(value: unknown): URL | undefined {
  try {
    return new URL(value as string, document.baseURI)
  } catch {
    return
  }
}
