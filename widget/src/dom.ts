// Elements. All text goes through textContent, so nothing of a company or a buyer becomes HTML.

export type Child = Node | string | null | undefined | false

type Property = string | number | boolean | null | undefined | ((event: Event) => void)

const svgNamespace = 'http://www.w3.org/2000/svg'

/** Makes an HTML element. A text as its properties is its class; a function among them listens to the event of its name. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties?: string | Record<string, Property> | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name)
  set(element, typeof properties === 'string' ? { class: properties } : (properties ?? {}))
  fill(element, ...children)
  return element
}

/** Sets attributes: true is an empty one, and false, null, undefined and an empty text remove it. */
export function set(element: Element, properties: Record<string, Property>): void {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (!value && value !== 0) element.removeAttribute(name)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
}

/** Replaces what is in an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...(children.filter((child) => child) as (Node | string)[]))
}

/** A text of a company or a buyer within other text, which keeps its own direction. */
export function user(text: string): HTMLElement {
  return el('bdi', null, text)
}

/** Makes a drawing of one path on a square of a size. */
export function svg(size: number, properties: Record<string, Property>, ...paths: Record<string, Property>[]): SVGSVGElement {
  const drawing = document.createElementNS(svgNamespace, 'svg')
  set(drawing, { viewBox: `0 0 ${size} ${size}`, ...properties })
  for (const path of paths) {
    const element = document.createElementNS(svgNamespace, 'path')
    set(element, path)
    drawing.append(element)
  }
  return drawing
}

/** A line drawing beside a text that says the same. */
export function icon(name: keyof typeof lines): SVGSVGElement {
  return svg(24, { class: 'icon', 'aria-hidden': 'true' }, { d: lines[name] })
}

const lines = {
  date: 'M4 6h16v14H4zM4 10h16M8 3v5M16 3v5',
  place: 'M12 21s-7-6-7-11a7 7 0 0 1 14 0c0 5-7 11-7 11zM12 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4',
  ticket: 'M3 7h18v3a2 2 0 0 0 0 4v3H3v-3a2 2 0 0 0 0-4zM14 7v2M14 11v2M14 15v2',
  done: 'M5 13l4 4L19 7',
  mail: 'M3 6h18v12H3zM3 7l9 6 9-6',
  back: 'M19 12H5M11 6l-6 6 6 6',
  alert: 'M12 4L2.5 20h19zM12 10v4M12 17v.01',
}
