// Package elect decides which host of a replicated queue is to take over when its
// source is gone: an election among three or more hosts, by go.etcd.io/raft. It
// decides nothing else. Nothing is proposed to that Raft; its log holds an empty
// entry for each term, and its leader is the host that is elected.
//
// Who is elected only asks the others for their promises, as a person would have it
// do. Two hosts that both believe to be elected can therefore do no harm, and the
// state that is kept is a hint: a host that has lost it may vote twice, and nothing
// that counts hangs on a vote.
//
//	tick, message of another host
//	          │
//	          ▼
//	      Elector ──► state to be kept ──► messages to other hosts ──► Leader
//
// An Elector has no clock, no goroutine and no disk. Who drives it keeps the state of
// an Output before it sends the messages of it.
package elect
