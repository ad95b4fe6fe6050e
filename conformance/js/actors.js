// The actors and the service that the cases call, on the published kar-sdk.

const express = require('express')
const { actor, tailCall, sys } = require('kar-sdk')
const { note, pass } = require('./witness')
const serve = require('./serve')

// Echo gives back what it gets.
class Echo {
  constructor (id) { this.id = id; this.constant = 42 }
  value (x) { return x }
  all (...args) { return args }
  none () {}
  self () { return { id: this.id, kar: this.kar.id, type: this.kar.type } }
  fail (message) { throw new Error(message) }
  async told (name, data) { await note(name, data) }
}

// Lively tells of its life.
class Lively {
  async activate () { await note('activated/' + this.kar.id) }
  async deactivate () { await note('deactivated/' + this.kar.id) }
  hello () { return 'hello' }
}

// Refusing cannot be brought to life.
class Refusing {
  activate () { throw new Error('not today') }
  hello () { return 'hello' }
}

// Counter reads, lets others try to come between, and writes.
class Counter {
  async add (n) {
    const before = await actor.state.get(this, 'n') || 0
    await new Promise(resolve => setImmediate(resolve))
    await actor.state.set(this, 'n', before + n)
    return before + n
  }

  async get () { return await actor.state.get(this, 'n') || 0 }
}

// Peer calls others, which may call back.
class Peer {
  async ask (other, method, ...args) {
    return actor.call(this, actor.proxy('Peer', other), method, ...args)
  }

  // through calls the first, which calls the second, and so on; the last answers.
  async through (path) {
    this.depth = (this.depth || 0) + 1
    try {
      if (path.length === 0) return { at: this.kar.id, depth: this.depth }
      const [next, ...rest] = path
      return await actor.call(this, actor.proxy('Peer', next), 'through', rest)
    } finally {
      this.depth--
    }
  }

  // both calls two others at the same time.
  async both (a, b, method, ...args) {
    return Promise.all([a, b].map(id => actor.call(this, actor.proxy('Peer', id), method, ...args)))
  }

  // back calls the one given, which the caller is waiting in.
  async back (to) { return actor.call(this, actor.proxy('Peer', to), 'value', this.kar.id) }
  value (x) { return x }

  // tells leaves a message and goes on.
  async tells (to, name, data) {
    await actor.tell(this, actor.proxy('Echo', to), 'told', name, data)
    return 'told'
  }

  async promises (to, x) { return (await actor.asyncCall(this, actor.proxy('Echo', to), 'value', x))() }
  async nestedFailure (to) {
    try {
      await actor.call(this, actor.proxy('Echo', to), 'fail', 'inner')
    } catch (err) {
      return 'caught'
    }
    return 'no error'
  }

  // once calls another when it is tried first, and never again.
  async once (child, gate) {
    if (await actor.state.get(this, 'called')) return 'tried again'
    await actor.state.set(this, 'called', true)
    return actor.call(this, actor.proxy('Slow', child), 'run', child, gate)
  }

  async root (to) { return actor.rootCall(actor.proxy('Echo', to), 'value', 'root') }
}

// Slow takes as long as the test wants, and tells of its begin and end.
class Slow {
  async run (name, gate) {
    await note(name, 'begin')
    if (gate) await pass(gate)
    await note(name, 'end')
    return name
  }

  // keep writes which process it is, when the test lets it, and tells what became
  // of that.
  async keep (name, gate) {
    await note(name, process.pid)
    await pass(gate)
    try {
      await actor.state.set(this, 'by', process.pid)
    } catch (err) {
      await note(name + '/refused', process.pid)
      throw err
    }
    await note(name + '/kept', process.pid)
    return process.pid
  }

  // parent calls two others at the same time, and is killed in between.
  async parent (name, gate, ...children) {
    await note(name, 'begin')
    const calls = children.map(c => actor.call(this, actor.proxy('Slow', c), 'run', c, gate))
    await Promise.all(calls)
    await note(name, 'end')
    return name
  }
}

// Tail ends its methods with calls.
class Tail {
  async down (n) {
    await note('tail/' + this.kar.id, n)
    return n > 0 ? actor.tailCall(this, 'down', n - 1) : 'landed'
  }

  to (type, id, method, ...args) { return actor.tailCall(actor.proxy(type, id), method, ...args) }
  // The SDK misspells its export.
  release (n) { return n > 0 ? actor.tailCallReleaasingLock(this, 'release', n - 1) : 'released' }
  service (path, body) { return tailCall('actors', path, body) }

  // held goes through a gate and then on by itself: nobody comes between.
  async held (gate) {
    await note('held/' + this.kar.id, 'one')
    await pass(gate)
    return actor.tailCall(this, 'second')
  }

  async second () { await note('held/' + this.kar.id, 'two'); return 'two' }
  async between () { await note('held/' + this.kar.id, 'between') }
}

// Clock is reminded.
class Clock {
  async tick (...args) { await note('tick/' + this.kar.id, { at: Date.now(), args }) }
}

// Listener hears of events.
class Listener {
  async event (e) { await note('event/' + this.kar.id, e) }
}

// Store keeps state from inside of a method.
class Store {
  async keep (key, value) {
    await actor.state.set(this, key, value)
    return actor.state.get(this, key)
  }

  async keepAndFail (key, value) {
    await actor.state.set(this, key, value)
    throw new Error('after the write')
  }

  async all () { return actor.state.getAll(this) }
}

const service = express()
service.get('/hello', (req, res) => res.type('text/plain').send('hello ' + (req.query.name || 'you')))
service.all('/mirror', express.text({ type: '*/*' }), (req, res) => {
  res.set('X-Answer', 'from the service').status(req.method === 'PUT' ? 201 : 200)
    .json({ method: req.method, body: req.body, type: req.get('content-type'), custom: req.get('x-custom'), query: req.query })
})
service.post('/double', express.json({ strict: false }), (req, res) => res.json(2 * req.body))
service.post('/valued', express.json({ strict: false }), (req, res) => res.json({ value: 2 * req.body }))
service.post('/told', express.json(), (req, res, next) => note(req.body.name, req.body.data).then(() => res.send('OK'), next))
service.post('/shutdown', (req, res) => { res.send('OK'); sys.shutdown() })
service.get('/teapot', (req, res) => res.status(418).type('text/plain').send('short and stout'))

const app = express()
app.use(service) // first: the SDK's router reads every body as JSON
app.use(sys.actorRuntime({ Echo, Lively, Refusing, Counter, Peer, Slow, Tail, Clock, Listener, Store }))

module.exports = app

if (require.main === module) serve(app)
