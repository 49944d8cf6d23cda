// Storage of widgets: the session's, or memory where the browser blocks that.

import type { Store } from './types.js'

const memory = new Map<string, string>()

/** Returns the store of a scope. What is kept there outlives a reload, and a widget that is destroyed and mounted again. */
export function openStore(scope: string): Store {
  const prefix = `ServiceEmbedsV1:${scope}:`
  // Each access may throw: storage may be blocked, full, or be blocked later.
  const attempt = <T>(access: (storage: Storage) => T): T | undefined => {
    try {
      return access(sessionStorage)
    } catch {
      return
    }
  }
  return {
    get: (name) => memory.get(prefix + name) ?? attempt((storage) => storage.getItem(prefix + name)) ?? null,
    set: (name, value) => {
      memory.set(prefix + name, value)
      attempt((storage) => storage.setItem(prefix + name, value))
    },
    remove: (name) => {
      memory.delete(prefix + name)
      attempt((storage) => storage.removeItem(prefix + name))
    },
  }
}
