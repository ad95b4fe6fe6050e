// Package host runs actors whose code is in another process: it is the host of
// a runtime component (internal/runtime), and its methods are HTTP requests to the paired
// application, as KAR's runtime makes them.
//
//	GET    /kar/impl/v1/actor/{type}/{id}?session=            activate
//	POST   /kar/impl/v1/actor/{type}/{id}/{method}?session=   invoke; body: a JSON array
//	DELETE /kar/impl/v1/actor/{type}/{id}                     deactivate
//	any verb, any path                                        a request to a service
//
// What the application answers is an outcome, rubbish too: an error of a method is a
// completion. Only the death of the process is a failure; then nothing is
// recorded, and the attempt is repeated elsewhere or later.
//
// A [Session] is a running attempt as the application knows it, by the text in
// ?session=. It makes the nested calls of the attempt. State is written past the
// instance, at once, by package kar; or with the outcome, by the [Changes] that an
// answer carries.
package host
