// What service.d.ts lets a host write, and what it refuses: the compiler checks both.

import type { Mounted, ServiceError, Transport } from './public.js'

declare const transport: Transport
const api = window.ServiceEmbedsV1

const mounted: Mounted = api.mount({
  target: '#tickets',
  transport: api.proxyTransport('/tickets'),
  initialQuery: { limit: 10 },
  brand: {
    brandName: 'Adire',
    logoUrl: 'https://cdn.example/logo.png?v=2',
    primaryColor: '#112233',
    accentColor: '#AABBCC',
    checkoutFooter: 'Thanks',
  },
  assetBase: 'https://tickets.example/embeds/v1/',
  styleNonce: 'abc',
})
const done: Promise<void> = mounted.refresh()
const nothing: void = mounted.destroy()
api.mount({ target: document.body, transport })
api.mountIframe({ target: '#tickets', transport, embedUrl: 'https://tickets.example/embed/v1/events', title: 'Tickets' })
const version: '1.0.0' = api.version

// A transport with a payment first.
const paying: Transport = async (operation, payload) => {
  if (operation === 'checkout.create') {
    const failure: Partial<ServiceError> = { status: 402, code: 'PAYMENT_REQUIRED', requestId: null, retryAfter: null }
    throw Object.assign(new Error('declined'), failure)
  }
  return transport(operation, payload)
}
const requestId: Promise<string> = paying('events.list', { limit: 10 }).then(({ data: [event], meta }) => {
  const status: 'PUBLISHED' | undefined = event?.status
  return `${status} ${meta.page.nextCursor} ${meta.requestId}`
})
void [done, nothing, version, requestId]

// @ts-expect-error: there is no target
api.mount({ transport })
// @ts-expect-error: there is no transport
api.mount({ target: '#tickets' })
// @ts-expect-error: a target is an element or a selector
api.mount({ target: 7, transport })
// @ts-expect-error: a target may not be null
api.mount({ target: document.querySelector('#tickets'), transport })
// @ts-expect-error: a transport is a function, not a path
api.mount({ target: '#tickets', transport: '/tickets' })
// @ts-expect-error: a transport returns a promise
api.mount({ target: '#tickets', transport: () => ({}) })
// @ts-expect-error: a browser holds no key
api.mount({ target: '#tickets', transport, apiKey: 'svc_live.x.y' })
// @ts-expect-error: nor a header with one
api.mount({ target: '#tickets', transport, authorization: 'Bearer x' })
// @ts-expect-error: nor in the brand
api.mount({ target: '#tickets', transport, brand: { token: 'x' } })
// @ts-expect-error: there is no such option
api.mount({ target: '#tickets', transport, theme: 'dark' })
// @ts-expect-error: a limit is a number
api.mount({ target: '#tickets', transport, initialQuery: { limit: '10' } })
// @ts-expect-error: the status is always PUBLISHED
api.mount({ target: '#tickets', transport, initialQuery: { status: 'DRAFT' } })
// @ts-expect-error: a color is a text
api.mount({ target: '#tickets', transport, brand: { primaryColor: 0x112233 } })
// @ts-expect-error: what has no logo leaves it out
api.mount({ target: '#tickets', transport, brand: { logoUrl: null } })
// @ts-expect-error: a brand has other members
api.mount({ target: '#tickets', transport, brand: { color: '#112233' } })
// @ts-expect-error: the frame is of mountIframe
api.mount({ target: '#tickets', transport, embedUrl: 'https://tickets.example/embed/v1/events' })
// @ts-expect-error: a title is of a frame
api.mount({ target: '#tickets', transport, title: 'Tickets' })
// @ts-expect-error: a frame needs its URL
api.mountIframe({ target: '#tickets', transport })
// @ts-expect-error: a frame brings its own stylesheet
api.mountIframe({ target: '#tickets', transport, embedUrl: 'https://a.example/embed/v1/events', assetBase: '/' })
// @ts-expect-error: a frame has a policy of its own
api.mountIframe({ target: '#tickets', transport, embedUrl: 'https://a.example/embed/v1/events', styleNonce: 'abc' })
// @ts-expect-error: a path is a text
api.proxyTransport(new URL('https://shop.example/tickets'))
// @ts-expect-error: what is mounted has no events
mounted.on('order', () => {})
// @ts-expect-error: the service cannot be changed
api.version = '1.0.0'
// @ts-expect-error: nor be replaced
window.ServiceEmbedsV1 = api
// @ts-expect-error: there are four operations
void transport('orders.list', {})
// @ts-expect-error: a payload is that of its operation
void transport('events.inventory', { limit: 10 })
// @ts-expect-error: money is no number
void transport('checkout.create', { lines: [{ tier: 'VIP', quantity: 1, expectedUnitPrice: 5000, currency: 'NGN' }] })
// @ts-expect-error: an order has no private members
void transport('checkout.create', null as never).then(({ data }) => data.floatDebited)
