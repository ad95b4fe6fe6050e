const assert = require('node:assert/strict')
const { actor } = require('kar-sdk')
const { notes } = require('../witness')
const unique = require('../unique')

const { reminders } = actor
const soon = () => new Date(Date.now() + 50)
const never = () => new Date(Date.now() + 3600 * 1000)
const clock = () => { const id = unique('clock'); return [id, actor.proxy('Clock', id)] }

exports.once = async () => {
  const [id, a] = clock()
  const due = soon()
  await reminders.schedule(a, 'tick', { id: 'r', targetTime: due }, 1, { two: 2 })
  const [first] = await notes('tick/' + id, 1)
  assert.deepEqual(first.args, [1, { two: 2 }])
  assert.ok(first.at >= due.getTime(), 'it came early')
}

exports.overdue = async () => {
  const [id, a] = clock()
  await reminders.schedule(a, 'tick', { id: 'r', targetTime: new Date(Date.now() - 1000) })
  await notes('tick/' + id, 1)
}

// KAR counts a period from the last firing; here the schedule stands.
exports['periodic-without-drift'] = async () => {
  const [id, a] = clock()
  const due = soon(); const period = 100; const count = 8
  await reminders.schedule(a, 'tick', { id: 'r', targetTime: due, period: period + 'ms' }, 'p')
  const ticks = await notes('tick/' + id, count)
  const next = new Date((await reminders.get(a, 'r')).targetTime).getTime()
  assert.equal((next - due.getTime()) % period, 0, 'the next one is not due by the schedule')
  assert.equal(await reminders.cancel(a, 'r'), 1)
  // Each tick comes at its time or late; lateness does not add up, so even the
  // last cannot come before its place in the schedule.
  ticks.slice(0, count).forEach((t, i) => assert.ok(t.at >= due.getTime() + i * period - 1, `tick ${i} came early`))
  assert.equal(await reminders.get(a, 'r'), null)
}

exports['get-one'] = async () => {
  const [id, a] = clock()
  const due = never()
  await reminders.schedule(a, 'tick', { id: 'r', targetTime: due, period: '1h' }, 'x')
  const got = await reminders.get(a, 'r')
  assert.equal(got.id, 'r')
  assert.equal(got.path, '/tick')
  assert.equal(new Date(got.targetTime).getTime(), due.getTime())
  assert.deepEqual(got.actor, { Type: 'Clock', ID: id }) // KAR's names, not those of the SDK's declarations
  await reminders.cancel(a)
}

exports['get-all'] = async () => {
  const [, a] = clock()
  assert.deepEqual(await reminders.get(a), [])
  for (const id of ['one', 'two']) await reminders.schedule(a, 'tick', { id, targetTime: never() })
  assert.deepEqual((await reminders.get(a)).map(r => r.id).sort(), ['one', 'two'])
  assert.equal(await reminders.cancel(a), 2)
  assert.deepEqual(await reminders.get(a), [])
}

exports['an-absent-one'] = async () => {
  const [, a] = clock()
  assert.equal(await reminders.get(a, 'none'), null)
  assert.equal(await reminders.cancel(a, 'none') || 0, 0)
}

exports.replace = async () => {
  const [id, a] = clock()
  await reminders.schedule(a, 'tick', { id: 'r', targetTime: never() }, 'old')
  await reminders.schedule(a, 'tick', { id: 'r', targetTime: soon() }, 'new')
  const ticks = await notes('tick/' + id, 1)
  assert.deepEqual(ticks.map(t => t.args), [['new']])
  assert.deepEqual(await reminders.get(a), [])
}
