// Types of the embed SDK: window.ServiceEmbedsV1, which /embeds/v1/service.js defines.
//
// What a transport returns is what a browser proxy answers. See docs/embed.md.

/** An amount in major units with exactly two decimals, such as "5000.00". */
export interface Money {
  amount: string
  currency: 'NGN'
}

/** An event on sale. */
export interface Event {
  id: string
  object: 'event'
  title: string
  description: string | null
  status: 'PUBLISHED'
  schedule: { date: string | null; startsAt: string | null; endsAt: string | null; timezone: string | null }
  location: { name: string | null; venue: string | null }
  imageUrl: string
  organizerName: string | null
  category: { id: string; name: string; slug: string } | null
  ticketCategories: string[]
}

/** The admissions of one ticket category of an event. */
export interface InventoryTier {
  object: 'inventory_tier'
  tier: string
  status: 'AVAILABLE' | 'PAUSED' | 'SOLD_OUT' | 'CANCELLED'
  availableQuantity: number
  totalAdmissions: number
  unitPrice: Money | null
}

/** What lines cost now. A quote reserves nothing. */
export interface PricingQuote {
  object: 'pricing_quote'
  eventId: string
  currency: 'NGN'
  lines: { tier: string; quantity: number; unitPrice: Money; subtotal: Money; availableAtPrice: number }[]
  total: Money
  quotedAt: string
}

/** A confirmed order: what a browser may know of it. */
export interface Order {
  id: string
  object: 'order'
  eventId: string
  status: 'CONFIRMED' | 'CANCELLED' | 'REFUNDED'
  gross: Money
  branding: {
    brandName: string
    logoUrl: string | null
    primaryColor: string
    accentColor: string
    checkoutFooter: string | null
  }
  lines: { id: string; admissionId: string; title: string; tier: string; unitPrice: Money }[]
  confirmedAt: string
}

/** The payload of each operation. */
export interface Payloads {
  'events.list': { limit?: number; cursor?: string }
  'events.inventory': { eventId: string }
  'pricing.quote': { eventId: string; lines: { tier: string; quantity: number }[] }
  'checkout.create': {
    eventId: string
    buyer: { email: string; fullname?: string; phone?: string }
    lines: { tier: string; quantity: number; expectedUnitPrice: string; currency: 'NGN' }[]
    idempotencyKey: string
  }
}

/** The envelope that answers each operation. */
export interface Envelopes {
  'events.list': { data: Event[]; meta: { requestId: string; page: { hasMore: boolean; nextCursor: string | null } } }
  'events.inventory': { data: InventoryTier[]; meta: { requestId: string } }
  'pricing.quote': { data: PricingQuote; meta: { requestId: string } }
  'checkout.create': { data: Order; meta: { requestId: string } }
}

export type Operation = keyof Payloads

/** Carries one operation to the shop's own proxy, and returns its envelope. It rejects with a {@link ServiceError}. */
export type Transport = <O extends Operation>(operation: O, payload: Payloads[O]) => Promise<Envelopes[O]>

/** A failed operation. An error of another kind counts as a lost connection. */
export interface ServiceError extends Error {
  /** The HTTP status; 0 if there was no answer. */
  status: number
  /** A code of the API or the proxy, or PROXY_RESPONSE_NOT_JSON or REQUEST_FAILED. */
  code: string
  /** The request id of the answer; null if it had none. */
  requestId: string | null
  /** How many seconds to wait, from Retry-After; null if the answer did not say. */
  retryAfter: number | null
}

/** How the widget looks. What is left out is neutral. */
export interface Brand {
  brandName?: string
  /** An HTTPS URL without credentials and fragment. */
  logoUrl?: string
  /** Six-digit hex with a leading #. */
  primaryColor?: string
  /** Six-digit hex with a leading #. */
  accentColor?: string
  checkoutFooter?: string
}

interface CommonOptions {
  /** The element that the widget is put into, or a selector of it. */
  target: string | Element
  transport: Transport
  /** The query of the first list of events. */
  initialQuery?: { limit?: number }
  brand?: Brand
}

export interface MountOptions extends CommonOptions {
  /** The directory of widget.css. Defaults to that of service.js. */
  assetBase?: string
  /** A nonce of the page's Content-Security-Policy for the style element with the theme. Without it the theme is set by script. */
  styleNonce?: string
}

export interface MountIframeOptions extends CommonOptions {
  /** The exact HTTPS URL of /embed/v1/events, without a query. */
  embedUrl: string
  /** The accessible name of the frame. */
  title?: string
}

export interface Mounted {
  /** Loads what is shown once more. */
  refresh(): Promise<void>
  /** Removes the widget. It may be called again. */
  destroy(): void
}

export interface ServiceEmbedsV1 {
  readonly version: '1.0.0'
  mount(options: MountOptions): Mounted
  mountIframe(options: MountIframeOptions): Mounted
  /** A transport for a proxy at a path of the page's own origin. */
  proxyTransport(path: string): Transport
}

declare global {
  interface Window {
    readonly ServiceEmbedsV1: ServiceEmbedsV1
  }
}
