// Reading through the transport: what may be repeated without harm.

import type { Envelopes, Operation, Payloads, ServiceError, Transport } from './types.js'

/** How often a read is repeated by itself after no answer, and after "too many requests". */
const repeats = 2
const waits = 3

/** The longest wait that a page counts down, in seconds. After a longer one a person has to ask again. */
const longestWait = 60

/** Called with the seconds until the next try, and at last with 0. */
export type OnTick = (left: number) => void

/** Resolves after seconds, or at the signal. */
export function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    setTimeout(done, seconds * 1000)
    signal.addEventListener('abort', done)
  })
}

/** Returns how many seconds a 429 asks to wait. */
export function waitOf({ retryAfter }: ServiceError): number {
  return retryAfter ?? 5
}

/**
 * Waits as long as a 429 asks for, or until the signal, and reports whether it may be tried again by itself: not after too
 * many waits, nor if the wait is too long, and then at once.
 */
export async function countDown(error: ServiceError, waited: number, signal: AbortSignal, onTick: OnTick): Promise<boolean> {
  const seconds = waitOf(error)
  if (waited >= waits || seconds > longestWait) return false
  const end = performance.now() + 1000 * seconds
  for (let left = seconds; left > 0 && !signal.aborted; left = Math.ceil((end - performance.now()) / 1000)) {
    onTick(left)
    await sleep(1, signal)
  }
  onTick(0)
  return true
}

/**
 * Reads, and repeats by itself what may pass: after a 429 as long as it asks for, and a little longer each time where no
 * answer came. What the browser knows of its connection only decides how long: a proxy on the same machine answers
 * without one. It returns null at once after the signal, so an answer that comes too late changes nothing.
 */
export async function read<O extends Operation>(
  transport: Transport, operation: O, payload: Payloads[O], signal: AbortSignal, onTick: OnTick,
): Promise<Envelopes[O] | null> {
  const left = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)))
  for (let repeated = 0, waited = 0; !signal.aborted; ) {
    try {
      return await Promise.race([left, transport(operation, payload)])
    } catch (failure) {
      const error = failure as ServiceError
      if (error.status === 429) {
        if (!(await countDown(error, waited++, signal, onTick))) throw error
      } else if (!error.status && !navigator.onLine) {
        for (let i = 0; i < 10 && !navigator.onLine && !signal.aborted; i++) await sleep(0.5, signal)
      } else if ((error.status < 400 || error.status >= 500) && repeated < repeats) {
        await sleep(2 ** repeated++ * (0.3 + Math.random() * 0.3), signal)
      } else throw error
    }
  }
  return null
}
