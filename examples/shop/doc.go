// Package shop is a shop in three languages on one pawl serve, whose processes are
// killed at random while it is open, and whose books are checked when it closes.
//
//	customers (driver) -- HTTP --> front.js      JavaScript, beside pawl run
//	                                 |  /v1, the order's id as idempotency key
//	                               Order.Place   Go, the SDK (order.go)
//	                                 |  a nested call, Once
//	                               Payment.charge  Python, beside pawl run (payment.py)
//	                                 |  a tail call
//	                               Shipment.Send   Go
//
// A customer who gets no answer asks again with the same order, until there is one.
// So every order is acknowledged in the end; the books say that each is paid and
// shipped exactly once.
package shop
