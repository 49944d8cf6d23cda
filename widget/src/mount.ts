// The widget in the page itself.

import { refuse } from './form.js'
import { render } from './host.js'
import { checkMount } from './options.js'
import { assets } from './script.js'
import { shops } from './transport.js'
import type { Mounted, Transport } from './types.js'

/** What is mounted: a widget keeps its place, and so its store, until it is destroyed. */
const places = new Map<string, Element>()

/**
 * Takes a place for a new element in the target, and returns the scope of its store: the shop, after a number, which
 * each of its widgets in one page has for itself. The shop is the one of the proxy, or that of the page. A target has one widget at a time.
 */
export function place(target: Element, element: Element, transport: Transport): string {
  if ([...places.values()].some((each) => each.parentNode == target)) refuse('target', 'has a widget')
  const shop = shops.get(transport) ?? `${location.pathname}#${target.id}`
  let number = 0
  while (places.get(number + shop)?.isConnected) number++
  places.set(number + shop, element)
  target.append(element)
  return number + shop
}

export function mount(options: unknown): Mounted {
  const { target, assetBase = assets, styleNonce, ...parts } = checkMount(options)
  if (!assetBase) refuse('assetBase') // A module does not know where service.js is.
  const host = document.createElement('div')
  const scope = place(target, host, parts.transport)
  try {
    return render(host, parts, scope, assetBase, styleNonce)
  } catch (thrown) {
    host.remove()
    throw thrown
  }
}
