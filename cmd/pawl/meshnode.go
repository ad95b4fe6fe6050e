package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/mesh"
)

// meshCLI is what the commands of a mesh share: how to reach it.
type meshCLI struct {
	*cli
	node          string // NAME=HOST:PORT
	secretFile    string
	cert, key, ca string
	timeout       time.Duration
	joined        map[string]bool // nodes that are linked, beside the entry
}

const nodeHint = "say which node to ask: --node NAME=HOST:PORT, or PAWL_MESH"

// entry is the node to ask first.
func (m *meshCLI) entry() (mesh.Peer, error) {
	spec := m.node
	if spec == "" {
		spec = m.getenv("PAWL_MESH")
	}
	if spec == "" {
		return mesh.Peer{}, usagef("%s", nodeHint)
	}
	id, addr, ok := strings.Cut(spec, "=")
	if !ok || id == "" || addr == "" {
		return mesh.Peer{}, usagef("--node %s: write NAME=HOST:PORT", spec)
	}
	return mesh.Peer{ID: id, Addr: addr}, nil
}

// with joins the mesh as an observer, and runs do when the first node has answered.
func (m *meshCLI) with(ctx context.Context, do func(*mesh.Node) error) error {
	switch m.format {
	case "", "json", "jsonl", "id":
	default:
		return badFormat(m.format)
	}
	entry, err := m.entry()
	if err != nil {
		return err
	}
	cfg := mesh.Config{
		ID: "pawl-" + rand.Text()[:8], Observer: true, Members: mesh.Static(entry),
		Logger: slog.New(slog.DiscardHandler), CallTimeout: m.timeout,
		Timing: mesh.Timing{Dial: m.timeout},
	}
	if err := m.credentials(&cfg); err != nil {
		return err
	}
	n, err := mesh.Start(cfg)
	if err != nil {
		return usagef("%s", err)
	}
	defer n.Close()
	m.joined = map[string]bool{}
	if err := m.reach(ctx, n, entry); err != nil {
		return err
	}
	return do(n)
}

// credentials has the observer prove that it belongs to the mesh.
func (m *meshCLI) credentials(cfg *mesh.Config) error {
	cfg.Secret = []byte(m.getenv("PAWL_MESH_SECRET"))
	if m.secretFile != "" {
		b, err := os.ReadFile(m.secretFile)
		if err != nil {
			return usagef("--secret-file: %s", err)
		}
		cfg.Secret = bytes.TrimRight(b, "\r\n")
	}
	if m.cert == "" && m.key == "" && m.ca == "" {
		return nil
	}
	if m.cert == "" || m.key == "" || m.ca == "" {
		return usagef("--tls-cert, --tls-key and --tls-ca go together")
	}
	pair, err := tls.LoadX509KeyPair(m.cert, m.key)
	if err != nil {
		return usagef("--tls-cert and --tls-key: %s", err)
	}
	if len(pair.Leaf.DNSNames) == 0 {
		return usagef("--tls-cert %s: it has no DNS name, which is the name of who shows it", m.cert)
	}
	roots, err := os.ReadFile(m.ca)
	if err != nil {
		return usagef("--tls-ca: %s", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots) {
		return usagef("--tls-ca %s: there is no certificate in it", m.ca)
	}
	cfg.ID = pair.Leaf.DNSNames[0]
	cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool} //nolint:gosec // the mesh sets the version
	return nil
}

// reach waits until a node is linked, or the first dial has failed.
func (m *meshCLI) reach(ctx context.Context, n *mesh.Node, p mesh.Peer) error {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		_, err := n.Ping(ctx, mesh.AnyAddress{Node: p.ID})
		if err == nil {
			return nil
		}
		sent, failed := errors.AsType[*mesh.SendError](err)
		if failed && sent.Err != nil || ctx.Err() != nil {
			return &failure{
				exit: v1.ExitNobody, text: fmt.Sprintf("node %s does not answer at %s: %s", p.ID, p.Addr, cause(err)),
				next: "is it there, by this name, with this secret or TLS? " + nodeHint,
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// cause says why a node was not reached.
func cause(err error) string {
	if sent, ok := errors.AsType[*mesh.SendError](err); ok {
		if errors.Is(sent.Err, io.EOF) {
			return "it closes the connection; does it use TLS?"
		}
		if sent.Err != nil {
			return sent.Err.Error()
		}
		return "it takes too long; --timeout gives it more"
	}
	return err.Error()
}

// find resolves [ACTOR@]NODE, or nothing for the entry, and links with its node. The
// address of a node that is not the entry comes from the entry.
func (m *meshCLI) find(ctx context.Context, n *mesh.Node, where string) (mesh.AnyAddress, error) {
	entry, err := m.entry()
	if err != nil {
		return mesh.AnyAddress{}, err
	}
	actor, node, _ := cutAddress(where)
	to := mesh.AnyAddress{Node: node, Name: actor}
	if node == "" || node == entry.ID {
		to.Node = entry.ID
		return to, nil
	}
	if m.joined[node] {
		return to, nil
	}
	info, err := m.ask(ctx, n, entry.ID, "")
	if err != nil {
		return to, err
	}
	var names []string
	for _, member := range info.Members {
		names = append(names, member.ID)
		if member.ID != node {
			continue
		}
		p := mesh.Peer{ID: node, Addr: member.Addr}
		if p.Addr == "" {
			return to, &failure{exit: v1.ExitNobody, text: fmt.Sprintf("node %s does not listen: nobody can ask it", node)}
		}
		ctx, cancel := context.WithTimeout(ctx, m.timeout)
		defer cancel()
		go func() { _ = n.Join(ctx, p) }() // reach says how it went
		if err := m.reach(ctx, n, p); err != nil {
			return to, err
		}
		m.joined[node] = true
		return to, nil
	}
	return to, &failure{
		exit: v1.ExitNotFound, text: fmt.Sprintf("%s knows no node %s; it knows %s", entry.ID, node, strings.Join(names, ", ")),
		next: "pawl mesh ls",
	}
}

// inspect asks a node what it does; an empty name is the entry.
func (m *meshCLI) inspect(ctx context.Context, n *mesh.Node, node, prefix string) (mesh.NodeInfo, error) {
	if strings.Contains(node, "@") {
		return mesh.NodeInfo{}, usagef("%s is an actor; write the name of a node", node)
	}
	to, err := m.find(ctx, n, node)
	if err != nil {
		return mesh.NodeInfo{}, err
	}
	return m.ask(ctx, n, to.Node, prefix)
}

func (m *meshCLI) ask(ctx context.Context, n *mesh.Node, node, prefix string) (mesh.NodeInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	info, err := n.Inspect(ctx, node, prefix)
	return info, explainMesh(err)
}

// explainMesh gives an operation's error its exit code, and says what to do.
func explainMesh(err error) error {
	for _, known := range []struct {
		is   error
		exit v1.Exit
		next string
	}{
		{mesh.RemoteNoSuchActor, v1.ExitNotFound, "pawl mesh status NODE lists the actors"},
		{mesh.SendNotAMember, v1.ExitNotFound, "pawl mesh ls lists the nodes"},
		{mesh.SendUnreachable, v1.ExitNobody, "pawl mesh ls shows who is linked"},
		{mesh.ReplyDisconnected, v1.ExitOutcomeUnknown, "the node was lost; look again with pawl mesh status"},
		{mesh.ReplyTimeout, v1.ExitOutcomeUnknown, "try again; --timeout gives it more time"},
	} {
		if errors.Is(err, known.is) {
			return &failure{exit: known.exit, text: err.Error(), next: known.next}
		}
	}
	return err
}
