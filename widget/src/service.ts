// The entry of service.js. In a page it defines window.ServiceEmbedsV1. In the frame's document, whose script element
// has the attribute data-frame with the origin of the page around it, it runs the framed side.

import { mountIframe } from './frame.js'
import { runFramed } from './framed.js'
import { mount } from './mount.js'
import { proxyTransport } from './transport.js'
import type { ServiceEmbedsV1 } from './types.js'

const name = 'ServiceEmbedsV1'
const origin = (document.currentScript as HTMLScriptElement | null)?.dataset['frame']

if (origin) {
  runFramed(origin)
} else if (!Object.hasOwnProperty.call(window, name)) {
  const value: ServiceEmbedsV1 = Object.freeze({ version: '1.0.0', mount, mountIframe, proxyTransport })
  Object.defineProperty(window, name, { value, enumerable: true })
}
