// The shop's own script: it mounts the widget, and puts a payment before each checkout.
(() => {
  'use strict'
  const target = document.querySelector('#tickets')
  if (!target) return
  const sdk = window.ServiceEmbedsV1
  if (!sdk) {
    target.textContent = 'Tickets cannot be shown now. Please try again later.'
    return
  }
  const proxy = sdk.proxyTransport('/tickets')

  async function transport(operation, payload) {
    if (operation === 'checkout.create') await pay(payload)
    return proxy(operation, payload)
  }

  // pay returns once the purchase is paid. What was paid before under the same key needs no second payment.
  async function pay({ idempotencyKey, eventId, lines }) {
    const purchase = { idempotencyKey, eventId, lines }
    const { paid, due } = await post({ ...purchase, agreed: false })
    if (paid) return
    if (!(await agree(due))) throw failure(402, 'PAYMENT_REQUIRED', 'The payment was cancelled.')
    await post({ ...purchase, agreed: true })
  }

  async function post(body) {
    let response, answer
    try {
      response = await fetch('/pay', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
      })
      answer = await response.json()
    } catch {
      throw failure(0, 'REQUEST_FAILED', 'The shop cannot be reached.')
    }
    const { error } = answer
    const wait = Number(response.headers.get('Retry-After')) || null
    if (!response.ok) throw failure(response.status, error.code, error.message, wait)
    return answer
  }

  // agree asks the buyer to pay an amount, and returns whether the buyer does.
  function agree(due) {
    const dialog = document.querySelector('#payment')
    const button = dialog.querySelector('#pay')
    button.textContent = `Pay ${format(due)} (demo)`
    return new Promise((resolve) => {
      button.onclick = () => dialog.close('paid')
      dialog.querySelector('#cancel').onclick = () => dialog.close('')
      dialog.onclose = () => resolve(dialog.returnValue === 'paid')
      dialog.returnValue = ''
      dialog.showModal()
    })
  }

  // format writes an amount such as 10000.00 as ₦10,000.
  function format(amount) {
    const [naira, kobo] = amount.split('.')
    const grouped = naira.replace(/\B(?=(\d{3})+$)/g, ',')
    return kobo === '00' ? `₦${grouped}` : `₦${grouped}.${kobo}`
  }

  function failure(status, code, message, retryAfter = null) {
    return Object.assign(new Error(message), { status, code, requestId: null, retryAfter })
  }

  const brand = { brandName: 'Lagos Live', primaryColor: '#9a3412', accentColor: '#9a3412' }
  const options = { target, transport, brand }
  if (target.dataset.frame) sdk.mountIframe({ ...options, embedUrl: target.dataset.frame, title: 'Tickets' })
  else sdk.mount(options)
})()
