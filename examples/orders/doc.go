// Package orders is a shop of two services between three queues: orders come in,
// the stock is reserved, invoices with numbers without a gap go out. Its process
// is killed again and again, and every order is dealt with exactly once.
//
//	orders ──▶ Stock ──▶ reservations ──▶ Billing ──▶ invoices
//
// Read it in this order: stock.go and billing.go are the services, serve.go puts
// them between the queues, check.go says what must be true in the end, and kill.go
// makes it hard.
package orders
