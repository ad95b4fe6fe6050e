// serve listens where the runtime expects its application, and says that it does.

const { sys } = require('kar-sdk')

module.exports = function serve (app) {
  app.use(sys.errorHandler)
  const server = process.env.H2C ? sys.h2c(app) : require('http').createServer(app)
  server.listen(Number(process.env.KAR_APP_PORT), '127.0.0.1', () => {
    console.log('ready ' + JSON.stringify({
      pid: process.pid,
      app: Number(process.env.KAR_APP_PORT),
      runtime: Number(process.env.KAR_RUNTIME_PORT)
    }))
  })
}
