const assert = require('node:assert/strict')
const { actor } = require('kar-sdk')
const { notes } = require('../witness')
const unique = require('../unique')

const peer = id => actor.proxy('Peer', id)

exports['a-call-to-itself'] = async () => {
  const a = unique('a')
  assert.deepEqual(await actor.call(peer(a), 'through', [a]), { at: a, depth: 2 })
}

exports['there-and-back'] = async () => {
  const a = unique('a'); const b = unique('b')
  assert.deepEqual(await actor.call(peer(a), 'through', [b, a]), { at: a, depth: 2 })
}

exports.deep = async () => {
  const a = unique('a'); const b = unique('b'); const c = unique('c')
  assert.deepEqual(await actor.call(peer(a), 'through', [b, c, a, b, c, a]), { at: a, depth: 3 })
}

exports['two-nested-calls-at-once'] = async () => {
  const a = unique('a'); const b = unique('b'); const c = unique('c')
  assert.deepEqual(await actor.call(peer(a), 'both', b, c, 'value', 1), [1, 1])
}

exports['both-call-back'] = async () => {
  const a = unique('a'); const b = unique('b'); const c = unique('c')
  assert.deepEqual(await actor.call(peer(a), 'both', b, c, 'back', a), [b, c])
}

exports['a-tell-from-a-method'] = async () => {
  const name = unique('from-method')
  assert.equal(await actor.call(peer(unique('a')), 'tells', unique('e'), name, 1), 'told')
  assert.deepEqual(await notes(name, 1), [1])
}

exports['a-promise-from-a-method'] = async () => {
  assert.equal(await actor.call(peer(unique('a')), 'promises', unique('e'), 5), 5)
}

exports['a-nested-failure-is-caught'] = async () => {
  assert.equal(await actor.call(peer(unique('a')), 'nestedFailure', unique('e')), 'caught')
}

exports['a-root-call-from-a-method'] = async () => {
  assert.equal(await actor.call(peer(unique('a')), 'root', unique('e')), 'root')
}
