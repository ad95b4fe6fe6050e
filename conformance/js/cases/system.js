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
  const id = unique('listed')
  await actor.state.set(actor.proxy('Store', id), 'key', 1) // one without state is not listed
  const text = JSON.stringify(await sys.get('actors'))
  assert.ok(text.includes(id), text)
}

exports['sidecar-actors'] = async () => {
  assert.equal(typeof await sys.get('sidecar_actors'), 'object')
}

exports.unknown = async () => assert.rejects(sys.get('nothing'))
