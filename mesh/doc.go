// Package mesh is messaging between nodes, at most once: ordinary Go actors (a
// handler with a mailbox) on named nodes, which message each other over TCP. It
// stands alone, and keeps nothing on disk.
//
// # Use
//
// A node is started with a name, the types of messages that travel, and where its
// peers are. An actor is a function that handles one message at a time; whoever
// has its address sends to it, from any node:
//
//	node, err := mesh.Start(mesh.Config{
//		ID: "a", Listen: "127.0.0.1:7400",
//		Messages: []mesh.MessageType{mesh.Message[Add]("counter.add")},
//		Members:  mesh.Static(mesh.Peer{ID: "b", Addr: "127.0.0.1:7401"}),
//	})
//	total := 0
//	_, err = mesh.Spawn(node, "counter", func(c *mesh.Context, m Add) error {
//		total += m.N
//		return c.Reply(total)
//	})
//
//	counter := mesh.At(other, mesh.Address[Add]{Node: "a", Name: "counter"})
//	err = counter.Cast(ctx, Add{1})                // no reply
//	sum, err := mesh.Call[int](ctx, counter, Add{2}) // waits for the reply
//
// # Promises
//
//   - A message is delivered at most once. Nothing is ever sent again. If no reply
//     comes, the message was handled or not; [OutcomeUnknown] tells when that is so.
//   - Messages from one node to one actor arrive in the order sent. Messages of two
//     nodes have no order between them.
//   - What is sent to a peer is spread over [Config].Lanes connections by the
//     actor's name, and a large message is cut into fragments: neither delays a
//     small one to another actor.
//   - Operations ([Ref.Shutdown], [Ref.Ping], [Ref.Monitor], ...) pass the mailbox by,
//     and between nodes they have a connection of their own.
//   - Nothing grows without bound. A lane's queue is bounded: Cast waits, TryCast
//     fails. An actor's backlog is bounded: a call is answered with
//     [RemoteOverloaded]; a refused cast is counted, logged, put on the dead-letter
//     stream, and reported to the node that sent it. A cast on the same node waits.
//   - A connection that is lost, and a member that leaves or fails, ends the calls and
//     monitors that were bound to it, at once.
//   - Every message that was sent is handled, refused, or dropped, and counted as
//     exactly one of these; see [Counters].
//
// # Not promised
//
// A message to a peer that is being reconnected is dropped. A peer is watched by
// heartbeats: one that is cut off without a word is noticed after [Timing].Silence,
// and until then messages to it are on their way to nowhere. Who must not lose a
// message calls, and treats an error as an unknown outcome.
//
// # How it works
//
// Two nodes share a link: a control stream and as many lanes as the side with more
// of them has, all dialled by one side (package internal/wire has the bytes). Each
// stream has a queue (internal/sendq) that a goroutine empties, all that waits in
// one write, and a goroutine that reads and puts what it decodes into mailboxes. A
// call or reply that is alone there is written by who sends it.
// Readers never wait, so replies and signs of life always get through. Who is a
// member, whom to dial when, and which of two links stays is decided by a table
// without clock or network (internal/roster). An actor has a goroutine only while
// it has something to do.
//
// Nodes know each other by a shared secret or by TLS certificates; without either a
// node listens on loopback only.
//
// # Errors
//
// There is one type per question: [SendError], it never left; [ReplyError], it left
// and no reply came; [RemoteError], what the other node answered; [AddressError], a
// name could not be resolved; [OpError], an operation failed. Each has a code that
// is an error itself, for errors.Is.
package mesh
