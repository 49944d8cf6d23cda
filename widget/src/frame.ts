// The page's side of a framed widget: it answers the frame with the page's transport.

import { openChannel, readyForm, type Channel, type Message } from './channel.js'
import { conforms, refuse } from './form.js'
import { place } from './mount.js'
import { checkIframe } from './options.js'
import { callForm, checked } from './schema.js'
import type { Mounted, Operation, Payloads, ServiceError } from './types.js'

export function mountIframe(options: unknown): Mounted {
  const { target, transport, initialQuery, brand, embedUrl, title = 'Tickets' } = checkIframe(options)
  if (!location.origin.startsWith('https:')) refuse('mountIframe', 'needs a page over HTTPS')
  const { origin } = new URL(embedUrl)
  const carry = checked(transport)

  const frame = document.createElement('iframe')
  const attributes = {
    sandbox: 'allow-scripts allow-same-origin allow-forms',
    allow: '',
    referrerpolicy: 'no-referrer',
    title,
    src: `${embedUrl}?origin=${encodeURIComponent(location.origin)}`,
  }
  for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value)
  Object.assign(frame.style, { display: 'block', width: '100%', border: '0' })

  let channel: Channel | undefined
  let open: () => void
  const opened = new Promise<void>((resolve) => (open = resolve)) // or destroyed
  const refreshing = new Map<number, () => void>() // by the number of the message that asked for it

  const answer = async (number: number, { operation, payload }: { operation: Operation; payload: never }): Promise<void> => {
    try {
      channel?.send('result', await carry(operation, payload as Payloads[Operation]), number)
    } catch (thrown) {
      const error = thrown as ServiceError
      channel?.send('error', { ...error, message: error.message }, number)
    }
  }
  const receive = ({ number, type, re, value }: Message): void => {
    if (type == 'call' && conforms(callForm, value)) {
      void answer(number, value as never)
    } else if (type == 'height' && (value as number) > 0) {
      frame.style.height = Math.min(value as number, 20_000) + 'px'
    } else if (type == 'refreshed') {
      refreshing.get(re)?.()
      refreshing.delete(re)
    }
  }
  const connect = ({ source, origin: from, data }: MessageEvent): void => {
    if (!source || source != frame.contentWindow || from != origin || !conforms(readyForm, data)) return
    removeEventListener('message', connect)
    const { port1, port2 } = new MessageChannel()
    channel = openChannel(port1, receive)
    frame.contentWindow.postMessage({ type: 'ServiceEmbedsV1.connect', nonce: data.nonce }, origin, [port2])
    channel.send('start', { brand, initialQuery, scope })
    open()
  }
  addEventListener('message', connect)
  const scope = place(target, frame)

  return Object.freeze({
    refresh: async () => {
      await opened
      const asked = channel?.send('refresh')
      if (asked) await new Promise<void>((resolve) => refreshing.set(asked, resolve))
    },
    destroy: () => {
      removeEventListener('message', connect)
      channel?.close()
      channel = undefined
      frame.remove()
      open()
      refreshing.forEach((resolve) => resolve())
    },
  })
}
