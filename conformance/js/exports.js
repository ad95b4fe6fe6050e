// Prints the names of all functions that the SDK exports.

// A runtime is not needed for that, and the SDK must not wait for one.
require('node:http2').connect = () => ({})

const names = new Set()
const walk = o => Object.entries(o).forEach(([name, v]) => {
  if (typeof v === 'function') names.add(name)
  else if (!Array.isArray(v)) walk(v) // a list of handlers is no function
})
walk(require('kar-sdk'))
console.log('exports ' + JSON.stringify([...names]))
