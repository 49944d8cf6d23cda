// The entry of framed.js, the script of the frame's document: the widget there asks the page for everything, and
// reaches no network itself. The script element has the origin of the page around it in its attribute data-frame.

import { connectForm, openChannel, type Channel, type Message } from './channel.js'
import { asServiceError } from './error.js'
import { conforms, object, one, text } from './form.js'
import { render } from './host.js'
import { brand, initialQuery } from './options.js'
import { assets, script } from './script.js'
import type { Brand, Mounted, Transport } from './types.js'

const style = object({ colorScheme: text(99), direction: one('ltr', 'rtl'), fontFamily: text(9999) })
const startForm = object({ brand, initialQuery, scope: text(9999), style })

interface Start {
  brand: Brand
  initialQuery: { limit?: number }
  scope: string
  /** Of the target in the page. */
  style: { colorScheme: string; direction: string; fontFamily: string }
}

const origin = script?.dataset['frame']
if (origin && parent != window) {
  const nonce = crypto.randomUUID()
  const connect = ({ source, origin: from, data, ports: [port] }: MessageEvent): void => {
    if (source != parent || from != origin || !port || !conforms(connectForm(nonce), data)) return
    removeEventListener('message', connect)
    serve(port, origin)
  }
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

function start(channel: Channel, transport: Transport, { brand, initialQuery, scope, style }: Start, origin: string): Mounted {
  const host = document.createElement('div')
  document.body.style.margin = '0'
  // The frame is as high as its content, so it needs no scroll bar, except where the page makes it lower.
  Object.assign(document.documentElement.style, style, { scrollbarWidth: 'none' })
  document.body.append(host)
  const follow = new ResizeObserver(() => {
    const height = Math.ceil(host.getBoundingClientRect().height)
    if (height) channel.send('height', height) // A browser may stop rendering a frame of no height.
  })
  follow.observe(host)
  return render(host, { transport, initialQuery, brand }, `${origin}:${scope}`, assets)
}
