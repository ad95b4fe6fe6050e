// Package wire is what nodes of the mesh say to each other, byte for byte: pure
// functions from values to bytes and back. It opens nothing and waits for nothing.
//
// # A stream
//
// Two nodes share a link: a control stream and some lanes, each a connection of
// its own. On each, after the handshake, there are frames:
//
//	+--------------+---------+----------------------+
//	| length (u32) | kind u8 | body, length-1 bytes |
//	+--------------+---------+----------------------+
//
// Numbers are little-endian; u.. is fixed, v is a varint; a name is a u8 length
// and so many bytes. Bodies of the kinds of a lane:
//
//	cast      target name | type name | payload
//	call      target name | type name | id u64 | timeout v (ns, 0 none) | payload
//	reply     id u64 | code u8 | form u8 | type name | payload, or a text if code is not 0
//	fragment  stream u32 | total u32 | bytes     a piece of a frame that is total bytes long, kind included
//	fin       (nothing)                          the sender will send no more on this lane
//
// And of the control stream, beside reply:
//
//	ready     dial u64                           all lanes are attached: the link is up, and the sender's dials up to this are not
//	heartbeat received u64                       messages taken from this link so far
//	op        target name | id u64 | op u8 | argument
//	notice    id u64 | reason u8 | text          a monitored actor has ended
//	refused   { target name | code u8 | count v }
//	goodbye   (nothing)                          the sender leaves; fin ends each lane, a heartbeat goes before
//	goodbyeok (nothing)                          the answer, when all that has been read; fin and a heartbeat as above
//	parted    (nothing)                          who leaves has read all that; a heartbeat goes before
//
// A kind, code or reason that is not known is a newer node's: it is reported as
// such, never guessed. A frame whose body does not parse is [ErrMalformed], and
// the next frame is where its length says; only a length out of bounds
// ([ErrBadLength]) ends a stream, since nothing behind it can be found.
//
// # The handshake
//
// Each connection begins with it. D dials, X accepts; the code is a keyed hash
// over what both said so far, so nothing of a peer is looked at before it has
// proved that it knows the secret, and what was recorded cannot be played again:
//
//	D: "PAWLMESH" | version u16 | nonce [32]
//	X: "PAWLMESH" | version u16 | nonce [32]
//	D: length u16 | identity | code [32]
//	X: length u16 | answer   | code [32]
package wire
