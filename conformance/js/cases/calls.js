const assert = require('node:assert/strict')
const { actor } = require('kar-sdk')
const { notes } = require('../witness')
const unique = require('../unique')

const echo = () => actor.proxy('Echo', unique('echo'))

exports.value = async () => {
  const to = echo()
  for (const x of [0, 1, -1.5, true, false, '', 'text', 'ÄÖ\u2028\u{1F43E}', [], [1, [2]], { a: { b: [null] } }]) {
    assert.deepEqual(await actor.call(to, 'value', x), x)
  }
}

exports.arguments = async () => {
  assert.deepEqual(await actor.call(echo(), 'all'), [])
  assert.deepEqual(await actor.call(echo(), 'all', 1, 'two', null, { three: 3 }), [1, 'two', null, { three: 3 }])
}

exports['no-value'] = async () => assert.equal(await actor.call(echo(), 'none'), undefined)

exports['a-field-is-read'] = async () => assert.equal(await actor.call(echo(), 'constant'), 42)

exports.large = async () => {
  const text = 'x'.repeat(90 * 1024) // the SDK's own limit is 100 KiB
  assert.equal(await actor.call(echo(), 'value', text), text)
}

exports['missing-method'] = async () => {
  await assert.rejects(actor.call(echo(), 'missing'), /no missing in actor with type Echo/)
}

// The SDK answers an error with its page for an unknown path instead of the
// error: the caller gets an error, but not its message.
exports.error = async () => {
  await assert.rejects(actor.call(echo(), 'fail', 'broken'), Error)
  const to = echo()
  await assert.rejects(actor.call(to, 'fail', 'broken'), Error)
  assert.equal(await actor.call(to, 'value', 'lives on'), 'lives on')
}

exports['refused-activation'] = async () => {
  const to = actor.proxy('Refusing', unique('refusing'))
  await assert.rejects(actor.call(to, 'hello'), /not today/)
  // The SDK keeps the actor all the same, and says that it is there.
  assert.equal(await actor.call(to, 'hello'), 'hello')
}

exports.root = async () => assert.equal(await actor.rootCall(echo(), 'value', 1), 1)

exports.tell = async () => {
  const name = unique('told')
  assert.equal(await actor.tell(echo(), 'told', name, { n: 1 }), 'OK')
  assert.deepEqual(await notes(name, 1), [{ n: 1 }])
}

exports['tells-arrive-in-order'] = async () => {
  const to = echo(); const name = unique('ordered')
  for (let i = 0; i < 20; i++) await actor.tell(to, 'told', name, i)
  assert.deepEqual(await notes(name, 20), [...Array(20).keys()])
}

exports.promise = async () => {
  const wait = await actor.asyncCall(echo(), 'value', { late: true })
  assert.deepEqual(await wait(), { late: true })
}

exports['promise-awaited-twice'] = async () => {
  const wait = await actor.asyncCall(echo(), 'value', 7)
  assert.equal(await wait(), 7)
  assert.equal(await wait(), 7)
}

exports['promise-of-an-error'] = async () => {
  const wait = await actor.asyncCall(echo(), 'missing')
  await assert.rejects(wait(), /no missing/)
}

exports['promise-of-no-value'] = async () => {
  const wait = await actor.asyncCall(echo(), 'none')
  assert.equal(await wait(), undefined)
}

exports.parallel = async () => {
  const got = await Promise.all([...Array(200).keys()].map(i => actor.call(actor.proxy('Echo', unique('many')), 'value', i)))
  assert.deepEqual(got, [...Array(200).keys()])
}

exports['one-at-a-time'] = async () => {
  const counter = actor.proxy('Counter', unique('counter'))
  const got = await Promise.all(Array(50).fill(1).map(n => actor.call(counter, 'add', n)))
  assert.deepEqual(got.sort((a, b) => a - b), [...Array(50).keys()].map(i => i + 1))
  assert.equal(await actor.call(counter, 'get'), 50)
}

// What is not plain in a path is escaped by the caller, and arrives as it was.
exports.ids = async () => {
  for (const id of ['a_b', 'a/b', 'a b', 'ä', '%', 'a%2Fb', '.', '+', 'a_b_c', '日本', 'q?x=1#y', ':']) {
    const name = unique('id') + id
    const got = await actor.call(actor.proxy('Echo', encodeURIComponent(name)), 'self')
    assert.deepEqual(got, { id: name, kar: name, type: 'Echo' })
  }
}

exports['activate-and-remove'] = async () => {
  const id = unique('lively'); const to = actor.proxy('Lively', id)
  assert.equal(await actor.call(to, 'hello'), 'hello')
  assert.equal(await actor.call(to, 'hello'), 'hello')
  assert.equal((await notes('activated/' + id, 1)).length, 1)
  await actor.state.set(to, 'kept', 1)
  await actor.remove(to)
  await notes('deactivated/' + id, 1)
  assert.equal(await actor.call(to, 'hello'), 'hello')
  assert.equal((await notes('activated/' + id, 2)).length, 2)
  assert.deepEqual(await actor.state.getAll(to), {})
}
