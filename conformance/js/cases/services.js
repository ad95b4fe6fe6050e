const assert = require('node:assert/strict')
const { call, tell, asyncCall, invoke } = require('kar-sdk')
const { notes } = require('../witness')
const unique = require('../unique')

exports.call = async () => assert.equal(await call('actors', 'double', 21), 42)

exports.tell = async () => {
  const name = unique('service-told')
  assert.equal(await tell('actors', 'told', { name, data: 'x' }), 'OK')
  assert.deepEqual(await notes(name, 1), ['x'])
}

exports.promise = async () => {
  const wait = await asyncCall('actors', 'double', 4)
  assert.equal(await wait(), 8)
}

exports.get = async () => {
  const res = await invoke('actors', 'hello?name=Ann', { method: 'GET' })
  assert.equal(res.status, 200)
  assert.equal(await res.text(), 'hello Ann')
  assert.match(res.headers['content-type'], /^text\/plain/)
}

exports.verbs = async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const body = method === 'DELETE' ? undefined : 'a body' // node sends none with it
    const res = await invoke('actors', 'mirror?a=b', { method, body, headers: { 'content-type': 'text/plain', 'x-custom': 'kept' } })
    assert.equal(res.status, method === 'PUT' ? 201 : 200, method)
    assert.equal(res.headers['x-answer'], 'from the service')
    const got = JSON.parse(await res.text())
    assert.equal(got.method, method)
    assert.equal(got.custom, 'kept')
    assert.deepEqual(got.query, { a: 'b' })
    if (body) assert.equal(got.body, body)
  }
}

exports.head = async () => {
  const res = await invoke('actors', 'mirror', { method: 'HEAD' })
  assert.equal(res.status, 200)
  assert.equal(res.headers['x-answer'], 'from the service')
}

exports['its-own-status'] = async () => {
  const res = await invoke('actors', 'teapot')
  assert.equal(res.status, 418)
  assert.equal(await res.text(), 'short and stout')
}

exports['its-own-404'] = async () => {
  const res = await invoke('actors', 'nowhere')
  assert.equal(res.status, 404)
}

exports.parallel = async () => {
  const got = await Promise.all([...Array(100).keys()].map(i => call('actors', 'double', i)))
  assert.deepEqual(got, [...Array(100).keys()].map(i => 2 * i))
}
