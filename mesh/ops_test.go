package mesh_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// An operation that cannot be sent says why the node is not reached.
func TestOperationSaysWhyUnreachable(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		a := c.Start("a", func(cfg *mesh.Config) { cfg.Members = mesh.Static(mesh.Peer{ID: "b", Addr: "nowhere"}) })
		c.Sleep(time.Second)
		_, err := a.Ping(t.Context(), mesh.AnyAddress{Node: "b", Name: "x"})
		sent, ok := errors.AsType[*mesh.SendError](err)
		if !ok || sent.Code != mesh.SendUnreachable || sent.Err == nil || sent.Actor != "x" {
			t.Errorf("%v: it does not say why", err)
		}
	})
}
