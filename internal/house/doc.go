// Package house holds no code: its tests check the rules of the house that a
// compiler does not, over the sources of the whole module. They are which
// package may import which (the arrows of docs/architecture.md), that each
// package says what it is, and that none has a name that says nothing.
package house
