// The transport for a proxy on the page's own origin.

import { asServiceError, serviceError } from './error.js'
import { credentialValue, matches, refuse } from './form.js'
import type { Envelopes, Operation, Payloads, ServiceError, Transport } from './types.js'

const patience = 30_000 // ms, for a whole answer

/** The URLs of the proxies of transports. */
export const shops = new WeakMap<Transport, string>()

export function proxyTransport(path: string): Transport {
  const url = matches(/^\/(?![/\\])[^\s#\\]*$/, path) && !credentialValue.test(path) && new URL(path, location.origin)
  if (!url || url.origin != location.origin) refuse('path', 'must be a path of this origin')
  const transport: Transport = <O extends Operation>(operation: O, payload: Payloads[O]) =>
    post(url.href, { operation, payload }) as Promise<Envelopes[O]>
  shops.set(transport, url.href)
  return transport
}

async function post(url: string, call: unknown): Promise<unknown> {
  let response: Response
  let body: string
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(call),
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
      signal: AbortSignal.timeout(patience),
    })
    body = await response.text()
  } catch {
    throw serviceError(0, '', "The shop didn't answer.")
  }
  const { status, headers, ok } = response
  const wait = headers.get('Retry-After') ?? ''
  const retryAfter = /^\d+$/.test(wait) ? +wait : Math.max(0, Math.ceil((Date.parse(wait) - Date.now()) / 1000))
  const requestId = headers.get('X-Request-Id')
  let answer: { error?: Partial<ServiceError>; meta?: { requestId?: unknown } } | null
  try {
    answer = JSON.parse(body)
  } catch {
    throw serviceError(status, 'PROXY_RESPONSE_NOT_JSON', "The shop didn't answer JSON.", requestId, retryAfter)
  }
  if (ok) return answer
  throw asServiceError({ ...answer?.error, status, requestId: answer?.meta?.requestId ?? requestId, retryAfter })
}
