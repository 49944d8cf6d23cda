// Storage of widgets: the session's, or memory where the browser blocks that.

import type { Store } from './types.js'

const memory = new Map<string, string>()

/** Returns the store of a scope. What is kept there outlives a reload, and a widget that is destroyed and mounted again. */
export function openStore(scope: string): Store {
  // Each access may throw: storage may be blocked, full, or be blocked later.
  const attempt = <T>(access: (storage: Storage) => T): T | void => {
    try {
      return access(sessionStorage)
    } catch {}
  }
  const at = (name: string): string => `ServiceEmbedsV1:${scope}:` + name
  return {
    get: (name) => memory.get(at(name)) ?? attempt((storage) => storage.getItem(at(name))) ?? null,
    set: (name, value) => {
      memory.set(at(name), value)
      attempt((storage) => storage.setItem(at(name), value))
    },
    remove: (name) => {
      memory.delete(at(name))
      attempt((storage) => storage.removeItem(at(name)))
    },
  }
}
