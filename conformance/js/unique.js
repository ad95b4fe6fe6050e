// unique makes ids that no other case, and no other run, uses.

let last = 0
module.exports = prefix => `${prefix}-${process.pid}-${++last}`
