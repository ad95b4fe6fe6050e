// The front of the shop: plain HTTP in, /v1 of the runtime beside it out. Nothing has
// to be installed.
//
//   pawl run --app shop --service front --engine pawl:./data -- node front.js
//   curl -d '{"customer":"ann","city":"Oslo","amount":5}' http://127.0.0.1:$PORT/orders/1
//
// The id of the order is the idempotency key: who gets no answer asks again, and it
// is one order.

const http = require('node:http')

const runtime = `http://127.0.0.1:${process.env.KAR_RUNTIME_PORT}/v1`
const port = Number(process.env.KAR_APP_PORT)

async function body (request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function place (order, purchase) {
  const answer = await fetch(`${runtime}/actors/Order/${encodeURIComponent(order)}/call/Place`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `order ${order}` },
    body: purchase
  })
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
}

const server = http.createServer(async (request, response) => {
  const [, order] = /^\/orders\/([^/]+)$/.exec(request.url) || []
  if (!order || request.method !== 'POST') return response.writeHead(404).end('POST /orders/ID')
  try {
    const { status, type, text } = await place(decodeURIComponent(order), await body(request))
    response.writeHead(status, { 'Content-Type': type || 'text/plain' }).end(text)
  } catch (err) {
    response.writeHead(503).end(`the shop is closed: ${err.message}`)
  }
})

server.listen(port, '127.0.0.1', () => {
  console.log('ready ' + JSON.stringify({ pid: process.pid, app: port, runtime: Number(process.env.KAR_RUNTIME_PORT) }))
})
