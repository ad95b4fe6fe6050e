package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-go/pawl/mesh"
)

// node is the program of a node: node NAME [PEER=ADDR]. It has the actors echo and
// stuck, of which the second holds its first message for ever and has two more. Its
// address is in the file NAME.addr; with PAWL_MESH_TLS its certificates are beside it.
func node() {
	if err := beNode(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func beNode(name string, peers []string) error {
	cfg := mesh.Config{
		ID: name, Listen: "127.0.0.1:0", Secret: []byte(os.Getenv("PAWL_MESH_SECRET")), Logger: slog.New(slog.DiscardHandler),
		Messages: []mesh.MessageType{mesh.Message[string]("text")},
	}
	var static []mesh.Peer
	for _, p := range peers {
		id, addr, _ := strings.Cut(p, "=")
		static = append(static, mesh.Peer{ID: id, Addr: addr})
	}
	cfg.Members = mesh.Static(static...)
	if os.Getenv("PAWL_MESH_TLS") != "" {
		var err error
		if cfg.TLS, err = certify(name, "ops"); err != nil {
			return err
		}
	}
	n, err := mesh.Start(cfg)
	if err != nil {
		return err
	}
	defer n.Close()
	if _, err := mesh.Spawn(n, "echo", func(c *mesh.Context, m string) error { return c.Reply(m) }); err != nil {
		return err
	}
	stuck, err := mesh.Spawn(n, "stuck", func(c *mesh.Context, _ string) error { <-c.Done(); return nil })
	if err != nil {
		return err
	}
	for range 3 {
		if err := stuck.TryCast("x"); err != nil {
			return err
		}
	}
	if err := os.WriteFile(name+".tmp", []byte(n.Addr()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(name+".tmp", name+".addr"); err != nil {
		return err
	}
	_, err = bufio.NewReader(os.Stdin).ReadByte() // until it is killed
	if err != nil {
		select {}
	}
	return nil
}

// readnode waits for the node NAME, and puts its address into the variable NAME.
func readnode(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0] + ".addr")
	for range 6000 {
		if b, err := os.ReadFile(path); err == nil {
			ts.Setenv(args[0], string(b))
			return
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // another process
	}
	ts.Fatalf("no node %s", args[0])
}

// certify makes an authority, and a certificate for each name, in the files
// ca.pem, NAME.pem and NAME.key; and the configuration of the first.
func certify(names ...string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), //nolint:forbidigo // a certificate's
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root, err := sign("ca", authority, authority, key, key)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(root)
	cfg := &tls.Config{RootCAs: pool}
	for i, name := range names {
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), NotAfter: authority.NotAfter, DNSNames: []string{name},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		}
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		if _, err := sign(name, leaf, authority, own, key); err != nil {
			return nil, err
		}
	}
	pair, err := tls.LoadX509KeyPair(names[0]+".pem", names[0]+".key")
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, err
}

// sign writes a certificate and its key, and returns the certificate.
func sign(name string, leaf, authority *x509.Certificate, own, by *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &own.PublicKey, by)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	if err := os.WriteFile(filepath.Clean(name+".key"), private, 0o600); err != nil {
		return nil, err
	}
	return cert, os.WriteFile(filepath.Clean(name+".pem"), cert, 0o600)
}
