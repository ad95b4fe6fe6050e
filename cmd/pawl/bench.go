package main

import "github.com/spf13/cobra"

func (c *cli) benchCommand() *cobra.Command {
	return noun("bench", "Measure on this machine")
}
