// The dining philosophers, on the published kar-sdk.
//
// A dinner is one call. Each of its steps ends with the call of the next, so where
// the dinner stands is in that call, and nowhere else:
//
//   Philosopher.dine -> hungry -> Fork.take -> took -> Fork.take -> took (and eats)
//                         ^                                           |
//                         +---- dropped <- Fork.drop <- dropped <- Fork.drop
//
// A step that a crash cut off runs again. It may have written already: so each
// step writes once, at its end, and what it writes again is the same.

const express = require('express')
const { actor, sys } = require('kar-sdk')

const philosopher = who => actor.proxy('Philosopher', who)
const fork = name => actor.proxy('Fork', name)

// A dinner is { who, forks, meal, meals, held }: who eats, with which two forks, the
// lower one first; which meal of how many; how many forks are in hand.
class Philosopher {
  // dine answers when the last meal is eaten, with their number.
  dine (forks, meals) {
    return actor.tailCall(this, 'hungry', { who: this.kar.id, forks, meal: 1, meals, held: 0 })
  }

  hungry (dinner) {
    return actor.tailCall(fork(dinner.forks[0]), 'take', dinner)
  }

  // waits asks for the same fork again, a little later.
  async waits (dinner) {
    await new Promise(resolve => setTimeout(resolve, 1 + 4 * Math.random()))
    return actor.tailCall(fork(dinner.forks[dinner.held]), 'take', dinner)
  }

  async took (dinner) {
    dinner.held++
    if (dinner.held < 2) return actor.tailCall(fork(dinner.forks[1]), 'take', dinner)
    await tell('begins', dinner)
    await tell('ends', dinner)
    await actor.state.set(this, 'eaten', dinner.meal)
    return actor.tailCall(fork(dinner.forks[1]), 'drop', dinner)
  }

  dropped (dinner) {
    dinner.held--
    if (dinner.held > 0) return actor.tailCall(fork(dinner.forks[0]), 'drop', dinner)
    if (dinner.meal === dinner.meals) return dinner.meals
    dinner.meal++
    return actor.tailCall(this, 'hungry', dinner)
  }

  async eaten () { return await actor.state.get(this, 'eaten') || 0 }
}

// A fork is { holder, taken }: who holds it, and how often it was taken.
class Fork {
  async take (dinner) {
    const { holder, taken } = await this.look()
    if (holder === null) await actor.state.set(this, 'fork', { holder: dinner.who, taken: taken + 1 })
    else if (holder !== dinner.who) return actor.tailCall(philosopher(dinner.who), 'waits', dinner)
    // Who holds it already is a step that runs again.
    return actor.tailCall(philosopher(dinner.who), 'took', dinner)
  }

  async drop (dinner) {
    const { holder, taken } = await this.look()
    if (holder === dinner.who) await actor.state.set(this, 'fork', { holder: null, taken })
    return actor.tailCall(philosopher(dinner.who), 'dropped', dinner)
  }

  async look () { return await actor.state.get(this, 'fork') || { holder: null, taken: 0 } }
}

// tell tells the waiter, who sees the whole table and is never killed.
function tell (what, { who, forks, meal }) {
  return fetch(`${process.env.WAITER}/${what}`, { method: 'POST', body: JSON.stringify({ who, forks, meal }) })
}

const app = express()
app.use(sys.actorRuntime({ Philosopher, Fork }))
app.use(sys.errorHandler)
const port = Number(process.env.KAR_APP_PORT)
app.listen(port, '127.0.0.1', () => {
  console.log('ready ' + JSON.stringify({ pid: process.pid, app: port, runtime: Number(process.env.KAR_RUNTIME_PORT) }))
})
