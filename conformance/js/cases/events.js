const assert = require('node:assert/strict')
const { actor, events } = require('kar-sdk')
const { notes } = require('../witness')
const unique = require('../unique')

const listener = () => { const id = unique('listener'); return [id, actor.proxy('Listener', id)] }

async function topic () {
  const name = unique('topic')
  await events.createTopic(name)
  return name
}

exports.delivered = async () => {
  const [id, a] = listener(); const name = await topic()
  await events.subscribe(a, 'event', name)
  await events.publish(name, { n: 1 })
  assert.deepEqual(await notes('event/' + id, 1), [{ n: 1 }])
  await events.cancelSubscription(a)
}

exports['in-order'] = async () => {
  const [id, a] = listener(); const name = await topic()
  await events.subscribe(a, 'event', name)
  for (let n = 0; n < 20; n++) await events.publish(name, { n })
  assert.deepEqual((await notes('event/' + id, 20)).map(e => e.n), [...Array(20).keys()])
  await events.cancelSubscription(a)
}

exports['to-all-subscribers'] = async () => {
  const [id, a] = listener(); const [other, b] = listener(); const name = await topic()
  await events.subscribe(a, 'event', name)
  await events.subscribe(b, 'event', name)
  await events.publish(name, { n: 1 })
  await notes('event/' + id, 1)
  await notes('event/' + other, 1)
  await Promise.all([a, b].map(x => events.cancelSubscription(x)))
}

exports.subscriptions = async () => {
  const [, a] = listener(); const name = await topic()
  await events.subscribe(a, 'event', name, { id: 's', contentType: 'application/json' })
  const one = await events.getSubscription(a, 's')
  assert.equal(one.id, 's')
  assert.equal(one.topic, name)
  assert.equal(one.path, '/event')
  assert.deepEqual((await events.getSubscription(a)).map(s => s.id), ['s'])
  assert.equal(await events.cancelSubscription(a, 's'), 1)
  assert.deepEqual(await events.getSubscription(a), [])
}

exports['nothing-after-the-end'] = async () => {
  const [id, a] = listener(); const [other, b] = listener(); const name = await topic()
  await events.subscribe(a, 'event', name)
  await events.subscribe(b, 'event', name)
  await events.publish(name, { n: 1 })
  await notes('event/' + id, 1)
  await events.cancelSubscription(a)
  await events.publish(name, { n: 2 })
  await notes('event/' + other, 2)
  // The first would have heard of it before its next call is answered.
  await actor.call(a, 'kar')
  assert.deepEqual(await notes('event/' + id, 0), [{ n: 1 }])
  await events.cancelSubscription(b)
}

exports['topics-come-and-go'] = async () => {
  const name = await topic()
  await events.createTopic(name) // again: no error
  await events.deleteTopic(name)
}
