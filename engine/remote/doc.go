// Package remote lets components in several processes use one engine. A
// [Server] offers an engine, the local one, over sockets; a [Client] is that
// engine elsewhere. Importing the package registers the URL schemes "pawl" and
// "pawl+unix":
//
//	pawl:./data             the data directory that a pawl serve on this machine has open
//	pawl+unix:///run/x.sock its socket, or directory
//	pawl://host:7070        a server over TCP
//
//	token_file              a file with the server's token; default: PAWL_TOKEN of the environment
//	rejoin      for how long a component tries to join again when its server went away; default 5m
//	ca          with TLS: the file of who signs the server's certificate; "system": whom the machine trusts
//	cert, key   with mutual TLS: the files of one's own certificate and its key
//
// # How it works
//
// Each component holds one session: numbered frames in both directions (package
// wire), over one connection at a time (stream.go). What rests on a record is
// sent when the record counts, so that a component hears of nothing that a
// crash can undo, and Wait answers at once there. Replies share the flushes
// that they wait for.
//
//	runtime --> session.go, operator.go --> stream ==socket== stream --> calls.go --> engine
//	runtime <-- session.event           <-- stream ==socket== stream <-- agent.go <-- engine
//
// # Failures
//
// A connection that ends may be followed by another within the grace; frames
// that were not acknowledged are sent again, and taken once. A component that
// does not come back in time, or is silent for the heartbeat timeout, is failed:
// its actors move, and what it sends afterwards is refused. A session of which
// the server knows nothing, since it was started anew, has ended too, but the
// runtime may let its component join again, under another one (session.Rejoin).
package remote
