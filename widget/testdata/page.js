// The page of a shop whose transport asks the test for each answer. Every answer has status 200, so that the console stays
// clean; a refusal and a lost answer become errors here.

const native = { setTimeout: window.setTimeout.bind(window), now: performance.now.bind(performance) }
const options = JSON.parse(document.currentScript.dataset.options)

// Time passes faster for the widget, so that no test waits for a real second.
if (options.speed > 1) {
  window.setTimeout = (f, ms, ...rest) => native.setTimeout(f, ms / options.speed, ...rest)
  performance.now = () => native.now() * options.speed
}

if (options.offline) Object.defineProperty(navigator, 'onLine', { value: false })

async function transport(operation, payload) {
  const sent = JSON.stringify({ operation, payload })
  const answer = await (await fetch('/script', { method: 'POST', body: sent })).json()
  native.setTimeout(() => answered++)
  arrived = performance.now()
  if (answer.lost) throw Object.assign(new TypeError('Failed to fetch'), { status: 0, code: 'REQUEST_FAILED', requestId: null, retryAfter: null })
  if (answer.envelope) return answer.envelope
  throw Object.assign(new Error(answer.message), answer)
}

/** Waits until a condition holds. */
async function until(condition) {
  const end = native.now() + 15000
  for (;;) {
    const value = condition()
    if (value) return value
    if (native.now() > end) throw new Error('never: ' + condition + '\n' + seen())
    await new Promise((resolve) => native.setTimeout(resolve, 12))
  }
}

let arrived = 0 // when the last answer did
let answered = 0 // how many answers the widget had time to show
const errors = []
addEventListener('error', (event) => errors.push(event.message))
addEventListener('unhandledrejection', (event) => errors.push(String(event.reason)))
const tree = () => document.querySelector('#shop > div').shadowRoot
const $ = (selector) => tree().querySelector(selector)
const $$ = (selector) => [...tree().querySelectorAll(selector)]
const seen = () => $('.svc').innerText
const named = (name) => $$('button').find((b) => (b.getAttribute('aria-label') ?? b.innerText).includes(name))
const press = async (name) => (await until(() => named(name))).click()
const shows = (text) => until(() => seen().includes(text))
const enter = (selector, value) => {
  const input = $(selector)
  input.value = value
  input.dispatchEvent(new Event('input', { bubbles: true }))
  input.dispatchEvent(new Event('change', { bubbles: true }))
}

const mount = () => window.ServiceEmbedsV1.mount({ target: document.querySelector('#shop'), transport, ...options.mount })
let mounted = mount()
