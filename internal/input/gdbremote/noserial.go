//go:build js

package gdbremote

// notWaiting is nothing: no serial devices are within reach.
const notWaiting = 0
