// The entry of service.js: it defines window.ServiceEmbedsV1.

import { mountIframe } from './frame.js'
import { mount } from './mount.js'
import { proxyTransport } from './transport.js'
import type { ServiceEmbedsV1 } from './types.js'

const name = 'ServiceEmbedsV1'

if (!Object.hasOwn(window, name)) {
  const value: ServiceEmbedsV1 = Object.freeze({ version: '1.0.0', mount, mountIframe, proxyTransport })
  Object.defineProperty(window, name, { value, enumerable: true })
}
