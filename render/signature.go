package render

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/backsight/backsight/internal/visible"
	"github.com/backsight/backsight/report"
)

// signatureVersion is of the definition of docs/signatures.md.
const signatureVersion = 1

// AppendSignature appends a line with the signature of the thread that crashed, else of the first: exact and stable key, "-"
// for none, class, title and capture, between tabs. Nothing where no thread is signed.
func AppendSignature(dst []byte, r *report.Report, capture string) []byte {
	s := signatureOf(r)
	if s == nil {
		return dst
	}
	for _, field := range []string{orDash(s.Exact), orDash(s.Stable), s.Class, s.Title} {
		dst = append(append(dst, visible.Line(field)...), '\t')
	}
	return append(append(dst, visible.Line(capture)...), '\n')
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// signatureOf is the signature of a capture: of the thread that crashed, else of the first that has one.
func signatureOf(r *report.Report) (first *report.Signature) {
	for i := range r.Threads {
		t := &r.Threads[i]
		if t.Signature != nil && t.Thread != nil && t.Crashed {
			return t.Signature
		}
		if first == nil {
			first = t.Signature
		}
	}
	return first
}

// signature writes a thread's signature. Of threads that did not crash the functions are left out, which take much room.
func (e *threadEncoder) signature(s *report.Signature, crashed bool) {
	e.key("signature")
	e.open('{')
	e.key("version")
	e.int(signatureVersion)
	e.member("class", s.Class)
	e.member("title", s.Title)
	e.member("exact", s.Exact)
	e.member("stable", s.Stable)
	e.key("whole")
	e.bool(s.Whole)
	if crashed {
		e.key("frames")
		e.open('[')
		for i := range s.Frames {
			e.signed(&s.Frames[i])
		}
		e.close(']')
	}
	e.close('}')
}

// signed writes a function of a signature.
func (e *threadEncoder) signed(f *report.SignedFrame) {
	e.open('{')
	e.key("frame")
	e.int(f.Index)
	e.member("module", f.Module)
	e.member("build", f.Build)
	e.member("function", f.Function)
	e.key("start")
	e.address(f.Start)
	if f.Inside {
		e.key("inside")
		e.bool(true)
	}
	e.member("import", f.Import)
	e.key("sure")
	e.bool(f.Sure)
	e.key("print")
	if f.Print == 0 {
		e.null()
	} else {
		e.string(fmt.Sprintf("%08x", f.Print))
	}
	e.hashes("named", f.Named)
	e.hashes("members", f.Members)
	e.close('}')
}

// hashes writes a list of hashes as one string, eight digits each; nothing for none.
func (e *threadEncoder) hashes(key string, list []uint32) {
	if len(list) == 0 {
		return
	}
	b := make([]byte, 0, 4*len(list))
	for _, v := range list {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	e.key(key)
	e.string(hex.EncodeToString(b))
}
