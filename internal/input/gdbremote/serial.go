//go:build !js

package gdbremote

import "syscall"

// notWaiting opens a serial device without waiting for its carrier.
const notWaiting = syscall.O_NONBLOCK
