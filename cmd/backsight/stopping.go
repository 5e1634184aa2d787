//go:build !js

package main

import (
	"os"
	"syscall"
)

// stopping are the signals that end a command.
func stopping() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }
