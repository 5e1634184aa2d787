//go:build unix

package main

import "syscall"

// consoleFlags: a serial line is no terminal that controls this process, and opening does
// not wait for a carrier.
const consoleFlags = syscall.O_NOCTTY | syscall.O_NONBLOCK
