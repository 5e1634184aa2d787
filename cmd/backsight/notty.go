//go:build !unix

package main

// consoleFlags are none where there are no Unix terminals.
const consoleFlags = 0
