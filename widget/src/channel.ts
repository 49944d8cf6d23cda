// The channel between the page and the frame. Each message has exactly these members, and its number is one more than
// that of the message before it in its direction. Anything else is dropped.

import { conforms, integer, is, object, one, pattern, type Form } from './form.js'

export interface Message {
  number: number
  type: string
  /** The number of the message that this one answers, or 0. */
  re: number
  value: unknown
}

export interface Channel {
  /** Sends a message, and returns its number. */
  send(type: string, value?: unknown, re?: number): number
  close(): void
}

const any = is((value) => value !== undefined)

/** What the frame posts to its parent, and the parent back with the port: the same number, made for this once. */
export const readyForm = object({ type: one('ServiceEmbedsV1.ready'), nonce: pattern(/^[\w-]{36}$/) })
export const connectForm = (nonce: string): Form => object({ type: one('ServiceEmbedsV1.connect'), nonce: one(nonce) })

export function openChannel(port: MessagePort, receive: (message: Message) => void): Channel {
  let sent = 0
  let received = 0
  port.onmessage = ({ data }) => {
    const next = object({ number: one(received + 1), type: pattern(/^/), re: integer(0, 1e9), value: any })
    if (!conforms(next, data)) return
    received++
    receive(data)
  }
  return {
    send: (type, value = null, re = 0) => {
      port.postMessage({ number: ++sent, type, re, value })
      return sent
    },
    close: () => port.close(),
  }
}
