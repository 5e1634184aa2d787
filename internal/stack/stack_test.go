package stack

import (
	"testing"
	"unsafe"
)

// TestReserve: deep work moves no stack that has room for it.
func TestReserve(t *testing.T) {
	moved := make(chan bool)
	go func() {
		Reserve()
		moved <- moves()
	}()
	if <-moved {
		t.Error("the stack moved though there was room")
	}
	go func() { moved <- moves() }()
	if !<-moved {
		t.Error("no stack moves; the test sees nothing")
	}
}

// moves tells whether the stack has another address after deep work.
func moves() bool {
	var x byte
	before := uintptr(unsafe.Pointer(&x))
	deep(size / 2)
	return uintptr(unsafe.Pointer(&x)) != before
}

// deep takes n bytes of the stack.
//
//go:noinline
func deep(n int) byte {
	var b [512]byte
	if n > len(b) {
		b[n%len(b)] = deep(n - len(b))
	}
	return b[n/2%len(b)]
}
