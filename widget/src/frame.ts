// The page's side of a framed widget: it answers the frame with the page's transport.

import { openChannel, readyForm, type Channel, type Message } from './channel.js'
import { conforms, refuse } from './form.js'
import { place } from './mount.js'
import { checkIframe } from './options.js'
import { callForm, checked } from './schema.js'
import type { Mounted, Operation, Payloads, ServiceError } from './types.js'

const patience = 10_000 // ms, for the frame's document

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
  const opened = new Promise<void>((resolve) => setTimeout((open = resolve), patience)) // or destroyed
  const refreshing = new Map<number, () => void>() // by the number of the message that asked for it

  const answer = async (
    { send }: Channel, number: number, { operation, payload }: { operation: Operation; payload: never },
  ): Promise<void> => {
    try {
      send('result', await carry(operation, payload as Payloads[Operation]), number)
    } catch (thrown) {
      const error = thrown as ServiceError
      send('error', { ...error, message: error.message }, number)
    }
  }
  const receive = ({ number, type, re, value }: Message): void => {
    if (type == 'call' && conforms(callForm, value)) {
      void answer(channel!, number, value as never)
    } else if (type == 'height' && (value as number) > 0) {
      frame.style.height = Math.min(value as number, 200_000) + 'px'
    } else if (type == 'refreshed') {
      refreshing.get(re)?.()
      refreshing.delete(re)
    }
  }
  // Each document of the frame begins so: the first one, and that of a frame that was reloaded, or moved in the page.
  const connect = ({ source, origin: from, data }: MessageEvent): void => {
    if (!source || source != frame.contentWindow || from != origin || !conforms(readyForm, data)) return
    channel?.close()
    settle()
    const { port1, port2 } = new MessageChannel()
    channel = openChannel(port1, receive)
    frame.contentWindow.postMessage({ type: 'ServiceEmbedsV1.connect', nonce: data.nonce }, origin, [port2])
    const { colorScheme, direction, fontFamily } = getComputedStyle(target)
    frame.style.colorScheme = colorScheme // With that of its document it has no background of its own.
    channel.send('start', { brand, initialQuery, scope, style: { colorScheme, direction, fontFamily } })
    open()
  }
  /** Ends each refresh that waits: the document that was asked has gone. */
  const settle = (): void => refreshing.forEach((resolve) => resolve())
  frame.onload = settle // Whether the document that loads has begun already is not known: either may come first.
  const scope = place(target, frame, transport)
  addEventListener('message', connect)

  return Object.freeze({
    refresh: async () => {
      await opened
      const asked = channel?.send('refresh')
      if (asked) await new Promise<void>((resolve) => {
        refreshing.set(asked, resolve)
        setTimeout(resolve, 6 * patience)
      })
    },
    destroy: () => {
      removeEventListener('message', connect)
      frame.remove()
      channel?.close()
      channel = undefined
      open()
      settle()
    },
  })
}
