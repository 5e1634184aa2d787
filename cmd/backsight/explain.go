package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newExplain(stdout, stderr io.Writer) *cobra.Command {
	return &cobra.Command{Use: "explain IMAGE PC"}
}
