const assert = require('node:assert/strict')
const { actor } = require('kar-sdk')
const unique = require('../unique')

const { state } = actor
const { submap } = state
const store = () => actor.proxy('Store', unique('store'))

exports['set-and-get'] = async () => {
  const a = store()
  for (const value of [0, 'x', false, [1], { deep: { er: 1 } }, null]) {
    await state.set(a, 'key', value)
    assert.deepEqual(await state.get(a, 'key'), value)
  }
}

exports['an-absent-key'] = async () => assert.equal(await state.get(store(), 'none'), null)

exports.overwrite = async () => {
  const a = store()
  await state.set(a, 'key', 1)
  await state.set(a, 'key', 2)
  assert.deepEqual(await state.getAll(a), { key: 2 })
}

exports.all = async () => {
  const a = store()
  await state.set(a, 'flat', 1)
  await submap.set(a, 'map', 'x', 2)
  await submap.set(a, 'map', 'y', { z: 3 })
  assert.deepEqual(await state.getAll(a), { flat: 1, map: { x: 2, y: { z: 3 } } })
}

exports['set-multiple'] = async () => {
  const a = store()
  assert.equal(await state.setMultiple(a, { a: 1, b: 2 }), 2)
  assert.equal(await state.setMultiple(a, { b: 3, c: 4 }), 1)
  assert.deepEqual(await state.getAll(a), { a: 1, b: 3, c: 4 })
}

exports.remove = async () => {
  const a = store()
  await state.set(a, 'key', 1)
  assert.equal(await state.remove(a, 'key'), 1)
  assert.equal(await state.remove(a, 'key'), 0)
  assert.equal(await state.get(a, 'key'), null)
}

exports['remove-some'] = async () => {
  const a = store()
  await state.setMultiple(a, { a: 1, b: 2, c: 3 })
  assert.equal(await state.removeSome(a, ['a', 'c', 'none']), 2)
  assert.deepEqual(await state.getAll(a), { b: 2 })
}

exports['remove-all'] = async () => {
  const a = store()
  await state.setMultiple(a, { a: 1, b: 2 })
  assert.equal(await state.removeAll(a), 2)
  assert.deepEqual(await state.getAll(a), {})
}

// The SDK looks at a promise instead of its value: its answer is always false.
exports['contains-is-always-false'] = async () => {
  const a = store()
  await state.set(a, 'key', 1)
  assert.equal(await state.contains(a, 'key'), false)
}

exports['many-at-once'] = async () => {
  const a = store()
  await state.setMultiple(a, { old: 1, kept: 2 })
  await submap.setMultiple(a, 'm', { old: 1, kept: 2 })
  const { added, removed } = await state.update(a, {
    updates: { fresh: 3, kept: 4 },
    submapupdates: { m: { fresh: 3 }, n: { first: 1 } },
    removals: ['old'],
    submapremovals: { m: ['old', 'none'] }
  })
  assert.deepEqual({ added, removed }, { added: 3, removed: 2 })
  assert.deepEqual(await state.getAll(a), { fresh: 3, kept: 4, m: { kept: 2, fresh: 3 }, n: { first: 1 } })
}

exports['submap-entries'] = async () => {
  const a = store()
  await submap.set(a, 'm', 'x', 1)
  assert.equal(await submap.get(a, 'm', 'x'), 1)
  assert.equal(await submap.get(a, 'm', 'none'), null)
  assert.equal(await submap.get(a, 'none', 'x'), null)
  assert.equal(await submap.contains(a, 'm', 'x'), true)
  assert.equal(await submap.contains(a, 'm', 'none'), false)
  assert.equal(await submap.remove(a, 'm', 'x'), 1)
  assert.equal(await submap.remove(a, 'm', 'x'), 0)
}

exports['submap-as-a-whole'] = async () => {
  const a = store()
  assert.equal(await submap.setMultiple(a, 'm', { x: 1, y: 2, z: 3 }), 3)
  assert.deepEqual(await submap.getAll(a, 'm'), { x: 1, y: 2, z: 3 })
  assert.deepEqual((await submap.keys(a, 'm')).sort(), ['x', 'y', 'z'])
  assert.equal(await submap.size(a, 'm'), 3)
  assert.equal(await submap.removeSome(a, 'm', ['x', 'none']), 1)
  assert.equal(await submap.removeAll(a, 'm'), 2)
  assert.equal(await submap.size(a, 'm'), 0)
  assert.deepEqual(await submap.getAll(a, 'm'), {})
  assert.deepEqual(await submap.keys(a, 'm'), [])
}

// KAR keeps both under one name.
exports['a-key-and-a-submap-of-one-name'] = async () => {
  const a = store()
  await state.set(a, 'both', 'flat')
  await submap.set(a, 'both', 'x', 'nested')
  assert.equal(await state.get(a, 'both'), 'flat')
  assert.equal(await submap.get(a, 'both', 'x'), 'nested')
  await submap.removeAll(a, 'both')
  assert.equal(await state.get(a, 'both'), 'flat')
}

// KAR joins names by underscores.
exports['actors-whose-names-join-alike'] = async () => {
  const base = unique('u')
  const pairs = [[base, 'b_c'], [base + '_b', 'c'], [base + '_b_c', '']].filter(([, key]) => key)
  for (const [id, key] of pairs) await state.set(actor.proxy('Store', id), key, id)
  for (const [id, key] of pairs) {
    assert.deepEqual(await state.getAll(actor.proxy('Store', id)), { [key]: id })
  }
}

exports['awkward-keys'] = async () => {
  const a = store()
  for (const key of ['a/b', 'a_b', 'a b', 'ü', '%', '.', ':', 'a+b']) {
    await state.set(a, encodeURIComponent(key), key)
    await submap.set(a, encodeURIComponent(key), encodeURIComponent(key), key)
    assert.equal(await state.get(a, encodeURIComponent(key)), key)
    assert.equal(await submap.get(a, encodeURIComponent(key), encodeURIComponent(key)), key)
  }
}

exports['a-method-reads-its-writes'] = async () => {
  const a = store()
  assert.equal(await actor.call(a, 'keep', 'k', 'v'), 'v')
  assert.equal(await state.get(a, 'k'), 'v')
  assert.deepEqual(await actor.call(a, 'all'), { k: 'v' })
}

// A write over REST is recorded when it is answered, whatever becomes of the method.
exports['a-write-outlives-an-error'] = async () => {
  const a = store()
  await assert.rejects(actor.call(a, 'keepAndFail', 'k', 'v'))
  assert.equal(await state.get(a, 'k'), 'v')
}

exports['two-actors-do-not-share'] = async () => {
  const a = store(); const b = store()
  await state.set(a, 'k', 1)
  assert.deepEqual(await state.getAll(b), {})
}
