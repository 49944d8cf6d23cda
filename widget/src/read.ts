// Reading through the transport: what may be repeated without harm.

import type { Envelopes, Operation, Payloads, ServiceError, Transport } from './types.js'

/** How often a read is repeated by itself after no answer, and after "too many requests". */
const repeats = 2
const waits = 3

/** Called with the seconds until the next try, and at last with 0. */
export type OnTick = (left: number) => void

/** Resolves after seconds, or at the signal. */
export function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000)
    signal.addEventListener('abort', () => resolve())
  })
}

/** Resolves as soon as the browser is online, or at the signal. */
export async function online(signal: AbortSignal): Promise<void> {
  while (!navigator.onLine && !signal.aborted) await sleep(0.5, signal)
}

/** Waits as long as a 429 asks for, or until the signal. */
export async function countDown({ retryAfter }: ServiceError, signal: AbortSignal, onTick: OnTick): Promise<void> {
  const end = Date.now() + 1000 * (retryAfter ?? 5)
  while (!signal.aborted) {
    const left = Math.max(0, Math.ceil((end - Date.now()) / 1000))
    onTick(left)
    if (!left) return
    await sleep(1, signal)
  }
}

/**
 * Reads, and repeats by itself what may pass: it waits for the connection, after a 429 as long as it asks for, and a
 * little longer each time where no answer came. It returns null at once after the signal, so an answer that comes too late
 * changes nothing.
 */
export async function read<O extends Operation>(
  transport: Transport, operation: O, payload: Payloads[O], signal: AbortSignal, onTick: OnTick,
): Promise<Envelopes[O] | null> {
  const left = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)))
  for (let repeated = 0, waited = 0; ; ) {
    await online(signal)
    if (signal.aborted) return null
    try {
      return await Promise.race([left, transport(operation, payload)])
    } catch (failure) {
      const error = failure as ServiceError
      if (error.status === 429 && waited++ < waits) await countDown(error, signal, onTick)
      else if ((error.status < 400 || error.status >= 500) && repeated < repeats) {
        await sleep(2 ** repeated++ * (0.3 + Math.random() * 0.3), signal)
      } else throw error
    }
  }
}
