// The widget in the page itself, in a shadow tree.

import { refuse } from './form.js'
import { checkMount } from './options.js'
import { checked } from './schema.js'
import { openStore } from './store.js'
import { theme } from './theme.js'
import type { Mounted, WidgetParts } from './types.js'
import { createWidget } from './widget.js'

/** The directory of service.js, with a slash at its end; empty in a module, which has no current script. */
const script = document.currentScript as HTMLScriptElement | null
export const assets = script?.src ? new URL('.', script.src).href : ''

const patience = 5000 // ms, for the stylesheet

/** What is mounted, in order: a widget keeps its place, and so its store, until it is destroyed. */
const places: Element[] = []

/** Takes a place for a new element in the target, and returns its number. A target has one widget at a time. */
export function place(target: Element, element: Element): number {
  if (places.some((each) => each.parentNode == target)) refuse('target', 'has a widget')
  const free = places.findIndex((each) => !each.isConnected)
  const at = free < 0 ? places.length : free
  places[at] = element
  target.append(element)
  return at
}

export function mount(options: unknown): Mounted {
  const { target, assetBase = assets, styleNonce, ...parts } = checkMount(options)
  if (!assetBase) refuse('assetBase') // A module does not know where service.js is.
  const host = document.createElement('div')
  return render(host, parts, '' + place(target, host), assetBase, styleNonce)
}

/** Renders the widget into a host element. It is shown as soon as its stylesheet has loaded or failed, so nothing shifts. */
export function render(
  host: HTMLElement,
  parts: Pick<WidgetParts, 'transport' | 'initialQuery' | 'brand'>,
  scope: string,
  directory: string,
  nonce?: string,
): Mounted {
  const shadow = host.attachShadow({ mode: 'open' })
  const add = <N extends 'div' | 'link' | 'style'>(name: N): HTMLElementTagNameMap[N] => {
    const element = document.createElement(name)
    if (nonce) element.nonce = nonce
    return shadow.appendChild(element)
  }
  const properties = theme(parts.brand)
  if (nonce) {
    add('style').textContent = `:host{${properties.map((property) => property.join(':')).join(';')}}`
  } else {
    for (const [name, value] of properties) host.style.setProperty(name, value)
  }

  host.style.setProperty('display', 'none', 'important')
  const show = (): void => void host.style.removeProperty('display')
  const timer = setTimeout(show, patience)
  const link = add('link')
  link.rel = 'stylesheet'
  link.onload = link.onerror = show
  link.href = directory + 'widget.css'

  const root = add('div')
  let widget: Mounted | undefined = createWidget({
    root,
    ...parts,
    transport: checked(parts.transport),
    store: openStore(scope),
  })
  return Object.freeze({
    refresh: async () => widget?.refresh(),
    destroy: () => {
      clearTimeout(timer)
      widget?.destroy()
      widget = undefined
      host.remove()
    },
  })
}
