// The witness is a server inside the Go test: what happens is told to it, and it
// stays told when the one who told is killed.

const at = (what, name) => `${process.env.WITNESS}/${what}/${encodeURIComponent(name)}`

// note tells the witness that something happened.
async function note (name, data = null) {
  const res = await fetch(at('note', name), { method: 'POST', body: JSON.stringify(data) })
  if (!res.ok) throw new Error(`witness: ${res.status} ${await res.text()}`)
}

// notes waits for at least count notes of a name and returns all of them.
async function notes (name, count) {
  const res = await fetch(`${at('notes', name)}?count=${count}`)
  if (!res.ok) throw new Error(`witness: ${name}: ${res.status} ${await res.text()}`)
  return res.json()
}

// pass waits until the test opens a gate.
const pass = name => fetch(at('gate', name), { method: 'POST' })

module.exports = { note, notes, pass }
