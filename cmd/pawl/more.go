package main

import "github.com/spf13/cobra"

// moreCommands are the commands that other packages bring.
func moreCommands() []*cobra.Command { return nil }
