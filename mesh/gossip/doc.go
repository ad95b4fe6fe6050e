// Package gossip finds the members of a mesh by gossip: a node is told the
// address of one or a few others, and soon knows them all. It is a
// [mesh.Membership] on hashicorp/memberlist (SWIM with suspicion).
//
//	members := gossip.New(gossip.Config{
//		Listen: "10.0.0.5:7946",
//		Seeds:  []string{"10.0.0.6:7946", "10.0.0.7:7946"},
//		Secret: secret,
//	})
//	node, err := mesh.Start(mesh.Config{
//		ID: "a", Listen: "10.0.0.5:7400", Secret: secret, Members: members,
//	})
//
// # How it works
//
// Gossip has a port of its own, for UDP and TCP. A node tells the others its
// name, its incarnation and the address of its mesh, in the metadata that
// memberlist spreads with each member:
//
//	+---------+----------------------+----------------------+
//	| 1 byte  | uvarint              | the rest, 255 at most|
//	| version | incarnation          | address of the mesh  |
//	+---------+----------------------+----------------------+
//
// Who is heard of is dialled by the node, and is a member once it is linked. Who
// is heard to be dead has failed, though its connections may not have noticed.
// The seeds are asked again and again as long as they are not among the members,
// so nodes may start in any order, and the two halves of a mesh that was cut for
// long find each other. All members are told to the node now and then, for it
// forgets who could not be reached for [mesh.Timing].FailAfter.
//
// A node that leaves says goodbye on its links first, behind all it has sent,
// and by gossip only when that is done. One that is closed or killed is missed:
// its links tell at once that it is unreachable, gossip after a few seconds that
// it has failed. One that ends before gossip has spread that it is there fails
// after [mesh.Timing].FailAfter.
//
// What a node sends does not grow with the number of nodes in a while at rest: a
// probe each second, and news to three others; what it sends for a join grows
// with the logarithm.
//
// # Secrets
//
// With a secret all gossip is encrypted and authenticated (AES-256-GCM under a
// key derived from it); who does not know it is not heard. Without one gossip
// stays on loopback.
package gossip
