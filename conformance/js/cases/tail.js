const assert = require('node:assert/strict')
const { actor } = require('kar-sdk')
const { notes } = require('../witness')
const unique = require('../unique')

exports.self = async () => {
  const id = unique('tail')
  assert.equal(await actor.call(actor.proxy('Tail', id), 'down', 5), 'landed')
  assert.deepEqual(await notes('tail/' + id, 6), [5, 4, 3, 2, 1, 0])
}

exports.other = async () => {
  const got = await actor.call(actor.proxy('Tail', unique('tail')), 'to', 'Echo', unique('e'), 'all', 1, 'x', [2])
  assert.deepEqual(got, [1, 'x', [2]])
}

exports['other-without-arguments'] = async () => {
  assert.deepEqual(await actor.call(actor.proxy('Tail', unique('tail')), 'to', 'Echo', unique('e'), 'all'), [])
}

exports['a-chain-over-actors'] = async () => {
  const [a, b] = [unique('tail'), unique('tail')]
  assert.equal(await actor.call(actor.proxy('Tail', a), 'to', 'Tail', b, 'to', 'Tail', a, 'down', 3), 'landed')
}

exports.releasing = async () => {
  assert.equal(await actor.call(actor.proxy('Tail', unique('tail')), 'release', 3), 'released')
}

exports['from-a-tell'] = async () => {
  const id = unique('tail')
  await actor.tell(actor.proxy('Tail', id), 'down', 2)
  assert.deepEqual(await notes('tail/' + id, 3), [2, 1, 0])
}

exports['from-a-promise'] = async () => {
  const wait = await actor.asyncCall(actor.proxy('Tail', unique('tail')), 'down', 2)
  assert.equal(await wait(), 'landed')
}

exports['to-an-error'] = async () => {
  await assert.rejects(actor.call(actor.proxy('Tail', unique('tail')), 'to', 'Echo', unique('e'), 'missing'), /no missing/)
}

// The service's answer is the caller's as it is, and the SDK expects a value in it.
exports['to-a-service'] = async () => {
  assert.equal(await actor.call(actor.proxy('Tail', unique('tail')), 'service', 'valued', 21), 42)
}
