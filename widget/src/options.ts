// The rules of the options (section 4.13). No error repeats a value: it may be a secret.

import { color, credentialValue, from, integer, is, join, line, matches, object, optional, pattern, refuse, webURL, type Form } from './form.js'
import type { Brand, MountIframeOptions, MountOptions } from './types.js'

type Checked<Options> = Omit<Options, 'target' | 'brand' | 'initialQuery'> & {
  target: Element
  brand: Brand
  initialQuery: { limit?: number }
}

/** Checks a brand: in the frame, too, where it comes from the page. */
export const brand = object({
  brandName: optional(line(120)),
  logoUrl: optional(webURL(2048)),
  primaryColor: optional(color),
  accentColor: optional(color),
  checkoutFooter: optional(line(500)),
}) as Form<Brand>

/** Checks the query of the first list of events. */
export const initialQuery = object({ limit: optional(integer(1, 100)) }) as Form<{ limit?: number }>

const target = from((value: string | Element) => {
  const element = typeof value == 'string' ? document.querySelector(value)! : value
  return element.nodeType == 1 && element.isConnected ? element : undefined
}, 'finds no element')

const embedUrl = is<string>(
  (value) => matches(/^https:[^?#@]+\/embed\/v1\/events$/, value) && new URL(value).href == value,
  'must be an HTTPS URL that ends in /embed/v1/events',
)

const assetBase = from((value: string) => {
  const { href } = new URL(value, document.baseURI)
  return /^https?:\/\/[^/?#@]+\/[^?#]*$/.test(href) ? href.replace(/\/?$/, '/') : undefined
})

const common = {
  target,
  transport: is((value) => typeof value == 'function'),
  initialQuery: optional(initialQuery),
  brand: optional(brand),
}

const ofMount = object({ ...common, assetBase: optional(assetBase), styleNonce: optional(pattern(/^[\w+/=-]{1,256}$/)) })
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
  const seen = new Set<unknown>()
  let count = 0
  const walk = (value: unknown, path: string, name: string): void => {
    if (
      /apikey|authori[sz]|token|secret|passw|credential|privatekey|bearer/i.test(name.replace(/[^a-z]/gi, '')) ||
      credentialValue.test(name) || (typeof value == 'string' && credentialValue.test(value))
    ) refuse(path, 'looks like a credential')
    if (typeof value != 'object' || !value || value instanceof Node || seen.has(value)) return
    seen.add(value)
    for (const key of Reflect.ownKeys(value)) {
      const at = join(path, key)
      if (++count > 999) refuse(at)
      walk(Object.getOwnPropertyDescriptor(value, key)?.value, at, String(key))
    }
  }
  walk(options, '', '')
}
