package gossip_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/gossip"
)

// Three nodes on one machine; the second and the third are told of the first.
func ExampleNew() {
	secret := []byte("known to the three of us")
	var seeds []string
	var nodes []*mesh.Node
	for _, id := range []string{"a", "b", "c"} {
		members := gossip.New(gossip.Config{Listen: "127.0.0.1:0", Seeds: seeds, Secret: secret, Logger: quiet})
		n, err := mesh.Start(mesh.Config{ID: id, Listen: "127.0.0.1:0", Secret: secret, Members: members, Logger: quiet})
		if err != nil {
			log.Fatal(err)
		}
		defer n.Close()
		if id == "a" {
			seeds = []string{members.Addr()}
		}
		nodes = append(nodes, n)
	}
	if err := nodes[2].WaitForMembers(context.Background(), 3); err != nil {
		log.Fatal(err)
	}
	for _, m := range nodes[2].Members() {
		fmt.Print(m.ID, " ")
	}
	// Output: c a b
}
