package render

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// AppendSignature appends a line with the signature of the thread that crashed, else of the first: exact and stable key, "-"
// for none, class, title and capture, between tabs. Nothing where no thread is signed.
func AppendSignature(dst []byte, r *report.Report, capture string) []byte {
	i := namedBy(r)
	if i < 0 {
		return dst
	}
	s := r.Threads[i].Signature
	for _, field := range []string{typeset.OrDash(s.Exact), typeset.OrDash(s.Stable), s.Class, s.Title} {
		dst = append(typeset.AppendText(dst, field), '\t')
	}
	return append(typeset.AppendText(dst, capture), '\n')
}

// namedBy is the index of the thread whose signature names a capture: the thread that crashed, else the first that has one;
// -1 for none.
func namedBy(r *report.Report) int {
	first := -1
	for i := range r.Threads {
		t := &r.Threads[i]
		if t.Signature != nil && t.Thread != nil && t.Crashed {
			return i
		}
		if first < 0 && t.Signature != nil {
			first = i
		}
	}
	return first
}

// signature writes a thread's signature. The functions, which take much room, are told of the thread that names the capture.
func (e *threadEncoder) signature(s *report.Signature) {
	e.key("signature")
	e.open('{')
	e.key("version")
	e.int(s.Version)
	e.member("class", s.Class)
	e.member("title", s.Title)
	e.member("exact", s.Exact)
	e.member("stable", s.Stable)
	e.key("whole")
	e.bool(s.Whole)
	if e.names {
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
	} else {
		e.key("offset")
		e.hex(f.Offset, 1)
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
	e.hashes("before", f.Before)
	if f.Known {
		e.key("known")
		e.bool(true)
	}
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
