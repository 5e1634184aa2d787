//go:build !small && linux

package main

import (
	"slices"
	"testing"
)

// TestRemoteSerial: a server at a serial line, which echoes and edits lines unless it is told not to.
func TestRemoteSerial(t *testing.T) {
	server, _ := remoteServer(t)
	device, path := pty(t)
	go server.Serve(device)
	code, out, errs := bs(t, "bt", "--image", remoteProgram, "--remote", path)
	if code != exitOK || len(framesOf(out)) < 5 || !slices.Contains(server.Requests(), "D") {
		t.Errorf("exit code %d, said %q, printed\n%s; requests %q", code, errs, out, server.Requests())
	}
}
