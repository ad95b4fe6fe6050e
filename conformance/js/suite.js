// The application that runs the cases. GET /cases names them; POST /cases/NAME
// runs one, and answers 200 or 500 with what was wrong. With ALONE=1 it hosts the
// actors as well.

const express = require('express')
const serve = require('./serve')

const cases = {}
for (const topic of ['calls', 'reentrancy', 'state', 'tail', 'reminders', 'events', 'services', 'system']) {
  for (const [name, run] of Object.entries(require('./cases/' + topic))) cases[`${topic}/${name}`] = run
}

const app = process.env.ALONE ? require('./actors') : express()
app.get('/cases', (req, res) => res.json(Object.keys(cases)))
app.post('/cases/:topic/:name', async (req, res) => {
  const run = cases[`${req.params.topic}/${req.params.name}`]
  if (!run) return res.status(404).send('no such case')
  try {
    await run()
    res.send('ok')
  } catch (err) {
    res.status(500).type('text/plain').send(err.stack || String(err))
  }
})
serve(app)
