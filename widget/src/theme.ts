// The theme: the colors of a brand as custom properties, each with the color of readable text on it.

import type { Brand } from './types.js'

/** Returns the custom properties of a brand, by their names. A color that a brand leaves out has none. */
export function theme(brand: Brand): [string, string][] {
  const properties: [string, string][] = []
  for (const [name, color] of [
    ['--brand-primary', brand.primaryColor],
    ['--brand-accent', brand.accentColor],
  ] as const) {
    if (color) properties.push([name, color], [name + '-text', luminance(color) > 0.179 ? '#000000' : '#ffffff'])
  }
  return properties
}

/** The relative luminance of WCAG 2.2. At 0.179 black and white are equally readable, with a contrast of 4.58. */
function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    return ((parseInt(color.slice(at, at + 2), 16) / 255 + 0.055) / 1.055) ** 2.4 // nearly exact for the darkest, too
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
