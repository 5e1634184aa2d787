//go:build cgo

// Command libbacksight is Backsight as a library for C and for whatever calls C, built with -buildmode=c-shared or
// -buildmode=c-archive; backsight.h has its functions.
package main

// #include <stdint.h>
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"runtime/cgo"
	"unsafe"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/embedded"
)

func main() {} // of a library, which nobody calls

//export backsight_version
func backsight_version() *C.char { return C.CString(backsight.Version()) }

//export backsight_open
func backsight_open(options *C.char, message **C.char) C.uintptr_t {
	s, err := embedded.Open(text(options))
	say(message, err)
	if err != nil {
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(s))
}

//export backsight_json
func backsight_json(session C.uintptr_t, capture *C.char, message **C.char) *C.char {
	return reports(session, "json", capture, message)
}

//export backsight_report
func backsight_report(session C.uintptr_t, format, capture *C.char, message **C.char) *C.char {
	return reports(session, text(format), capture, message)
}

//export backsight_close
func backsight_close(session C.uintptr_t) {
	if s, ok := opened(session); ok {
		_ = s.Close() // of mappings, which cannot fail
		cgo.Handle(session).Delete()
	}
}

// opened is a session; ok is false for 0, for one that was closed, and for no session at all. The program of the caller goes on.
func opened(session C.uintptr_t) (s *embedded.Session, ok bool) {
	defer func() { ok = recover() == nil && ok }() // of a handle that is none nothing else tells
	s, ok = cgo.Handle(session).Value().(*embedded.Session)
	return s, ok
}

//export backsight_free
func backsight_free(text *C.char) { C.free(unsafe.Pointer(text)) }

func reports(session C.uintptr_t, format string, capture *C.char, message **C.char) *C.char {
	var captures []string
	if capture != nil {
		captures = []string{C.GoString(capture)}
	}
	s, ok := opened(session)
	if !ok {
		say(message, errors.New("the session is not open"))
		return nil
	}
	out, err := s.Backtraces(context.Background(), format, captures...)
	say(message, err)
	if out == nil {
		return nil
	}
	return C.CString(string(out))
}

// text is a string, "" for NULL.
func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

// say writes an error, or NULL, where the caller wants it.
func say(message **C.char, err error) {
	if message == nil {
		return
	}
	*message = nil
	if err != nil {
		*message = C.CString(err.Error())
	}
}
