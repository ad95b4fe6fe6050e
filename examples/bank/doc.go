// Package bank moves money between accounts by tail calls, so that the total
// never changes, however often the program dies.
//
//	Transfer.Begin -> payer's Account.Withdraw -> Transfer.Withdrawn -> payee's Account.Deposit
//	                                                                       |
//	                                                                       +- told: Ledger.Note
//
// Money is never in two places and never nowhere: a withdrawal commits the
// smaller balance together with the request that leads to the deposit. Between
// the two it is in the flow, which survives with the state.
package bank
