//go:build js

package main

import "os"

// stopping are none: a page and a worker thread get no signals.
func stopping() []os.Signal { return nil }
