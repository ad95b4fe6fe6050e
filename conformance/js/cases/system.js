const assert = require('node:assert/strict')
const { actor, sys } = require('kar-sdk')
const unique = require('../unique')

exports.id = async () => {
  const id = await sys.get('id')
  assert.equal(typeof id, 'string')
  assert.notEqual(id, '')
  assert.equal(await sys.get('id'), id)
}

exports.sidecars = async () => {
  const text = JSON.stringify(await sys.get('sidecars'))
  assert.ok(text.includes(await sys.get('id')), text)
  assert.ok(text.includes('Echo'), text)
}

exports.actors = async () => {
  const stored = unique('stored'); const live = unique('live')
  await actor.state.set(actor.proxy('Store', stored), 'key', 1) // in nobody's memory
  await actor.call(actor.proxy('Echo', live), 'none') // without state
  const all = await sys.get('actors')
  assert.ok(all.Store.includes(stored), JSON.stringify(all))
  assert.ok(all.Echo.includes(live), JSON.stringify(all))
}

exports['sidecar-actors'] = async () => {
  assert.equal(typeof await sys.get('sidecar_actors'), 'object')
}

exports.unknown = async () => assert.rejects(sys.get('nothing'))
