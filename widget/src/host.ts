// The widget in its element: a shadow tree with the stylesheet and the theme.

import { checked } from './schema.js'
import { openStore } from './store.js'
import { theme } from './theme.js'
import type { Mounted, WidgetParts } from './types.js'
import { createWidget } from './widget.js'

const patience = 5000 // ms, for the stylesheet

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
