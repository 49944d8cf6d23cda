// The widget in the frame's document: it asks the page for everything, and reaches no network itself.

import { connectForm, openChannel, type Channel, type Message } from './channel.js'
import { asServiceError } from './error.js'
import { conforms, integer, object } from './form.js'
import { assets, render } from './mount.js'
import { brand, initialQuery } from './options.js'
import type { Brand, Mounted, Transport } from './types.js'

const startForm = object({ brand, initialQuery, scope: integer(0, 1e9) })

interface Start {
  brand: Brand
  initialQuery: { limit?: number }
  scope: number
}

/** Waits for the page at an origin, which embeds this document, and renders what it asks for. */
export function runFramed(origin: string): void {
  const nonce = crypto.randomUUID()
  const connect = ({ source, origin: from, data, ports }: MessageEvent): void => {
    const [port] = ports
    if (source != parent || from != origin || !port || !conforms(connectForm(nonce), data)) return
    removeEventListener('message', connect)
    serve(port, origin)
  }
  if (parent == window) return
  addEventListener('message', connect)
  parent.postMessage({ type: 'ServiceEmbedsV1.ready', nonce }, origin)
}

function serve(port: MessagePort, origin: string): void {
  const calls = new Map<number, [(value: never) => void, (reason: unknown) => void]>() // by number
  let widget: Mounted | undefined
  const transport: Transport = (operation, payload) =>
    new Promise((resolve, reject) => calls.set(channel.send('call', { operation, payload }), [resolve, reject]))

  const receive = ({ number, type, re, value }: Message): void => {
    const call = calls.get(re)
    if (type == 'start' && !widget && conforms(startForm, value)) {
      widget = start(channel, transport, value as Start, origin)
    } else if (type == 'refresh') {
      const done = (): unknown => channel.send('refreshed', null, number)
      void widget?.refresh().then(done, done)
    } else if (call && calls.delete(re)) {
      if (type == 'result') call[0](value as never)
      else call[1](asServiceError(value))
    }
  }
  const channel = openChannel(port, receive)
}

function start(channel: Channel, transport: Transport, { brand, initialQuery, scope }: Start, origin: string): Mounted {
  const host = document.createElement('div')
  document.body.style.margin = '0'
  document.documentElement.style.overflowY = 'hidden' // The frame is as high as its content.
  document.body.append(host)
  const follow = new ResizeObserver(() => {
    const height = Math.ceil(host.getBoundingClientRect().height)
    if (height) channel.send('height', height) // A browser may stop rendering a frame of no height.
  })
  follow.observe(host)
  return render(host, { transport, initialQuery, brand }, `${origin}:${scope}`, assets)
}
