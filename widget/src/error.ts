// Errors that cross from a transport to the widget.

import { matches } from './form.js'
import type { ServiceError } from './types.js'

export const requestIdForm = /^[a-z\d][\w.:-]{0,127}$/i

/** Makes a ServiceError. What is malformed is left out. */
export function serviceError(
  status: number,
  code?: unknown,
  message?: unknown,
  requestId?: unknown,
  retryAfter?: unknown,
): ServiceError {
  return Object.assign(new Error(typeof message == 'string' ? message.slice(0, 2000) : ''), {
    name: 'ServiceError',
    status,
    code: matches(/^[A-Z][A-Z\d_]{0,99}$/, code) ? code : 'REQUEST_FAILED',
    requestId: matches(requestIdForm, requestId) ? requestId : null,
    retryAfter: typeof retryAfter == 'number' && retryAfter >= 0 ? Math.min(retryAfter, 86400) : null,
  })
}

/** Makes a ServiceError of what a transport rejected with. Without a status it is a lost connection. */
export function asServiceError(thrown: unknown): ServiceError {
  try {
    const { status, code, message, requestId, retryAfter } = thrown as ServiceError
    return status > 99 && status < 600 && Number.isInteger(status)
      ? serviceError(status, code, message, requestId, retryAfter)
      : serviceError(0, '', message, requestId)
  } catch {
    return serviceError(0) // It has no members, or one that throws.
  }
}
