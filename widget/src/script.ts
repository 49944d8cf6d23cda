// The script element that this script was loaded by.

const current = document.currentScript

/** The element; null in a module, which has none. A page may have an element with the name currentScript. */
export const script = current instanceof HTMLScriptElement ? current : null

/** The directory of the script, with a slash at its end; empty in a module. */
export const assets = script?.src ? new URL('.', script.src).href : ''
