// Package wire is what two hosts that copy queues write on a connection: frames,
// and the handshake with which a connection begins. It does no I/O but on the
// reader it is given, and knows no secret but the one it is handed.
//
//	frame    0        4      5      6       8       12
//	         │ length │ type │ zero │ queue │ check │ body ...
//
//	length   of the body, at most MaxBody, and before the handshake MaxHello
//	queue    position in the list of queues in the sender's Hello; 0 otherwise
//	check    CRC32C of the eight bytes before it and of the body
//
// The body of an Update ends with blocks of a queue, which prove themselves, entry by
// entry, and are not in the check:
//
//	update   0        4      5      6       8       12       16
//	         │ length │ type │ zero │ queue │ check │ blocks │ body ... │ blocks ...
//
//	blocks   how many bytes of the frame, at its end, are blocks
//
// All numbers are little endian. The types, with the direction and the order in
// which they come:
//
//	Hello      dialler ──► acceptor   who I am, whom I mean, a nonce, my queues
//	Hello      dialler ◄── acceptor   the same; or Refuse
//	Proof      dialler ──► acceptor   that I know the secret
//	Proof      dialler ◄── acceptor   the same; or Refuse
//	Message    both ways              a message of core, for one queue
//	Update     both ways              one that brings entries, in blocks
//	Election   both ways              a message of package elect, for one queue
//	Status     both ways              how does your queue stand; and the answer
//	Heartbeat  both ways              nothing; sent in every interval
//	Refuse     both ways              why the sender ends the connection
//
// A Proof is an HMAC over both Hellos, so it is good for one connection only and
// cannot be replayed: each side has put a nonce of its own into what is proved.
// Where TLS is used, what it exports for the connection goes into it as well, so
// that a Proof cannot be carried over to another connection. Without a secret a
// Proof proves nothing, and only mistakes are found.
//
// A secret alone says who connects. It does not keep others from reading or
// changing what follows; TLS does.
package wire
