// The types that the SDK's parts share, beside the public ones of public.d.ts, which is served as service.d.ts.

import type { Brand, Mounted, Transport } from './public.js'

export type * from './public.js'

/** Storage of one widget, for texts. It never throws: where the browser blocks storage, it is in memory. */
export interface Store {
  get(name: string): string | null
  set(name: string, value: string): void
  remove(name: string): void
}

/** What a widget is made of. */
export interface WidgetParts {
  /** The element to render into: empty, in a shadow tree with widget.css, or in the frame's document. */
  root: HTMLElement
  /** Answers were checked against the browser schemas; every rejection is a ServiceError. */
  transport: Transport
  initialQuery: { limit?: number }
  /** Checked. */
  brand: Brand
  store: Store
}

export type CreateWidget = (parts: WidgetParts) => Mounted
