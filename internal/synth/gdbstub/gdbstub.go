// Package gdbstub is a GDB server of a snapshot, for tests: it tells registers and memory, by "Debugging with GDB",
// appendix E, and remembers what it was asked for.
package gdbstub

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Server is a server of a stopped program.
type Server struct {
	Snapshot *target.Snapshot
	// Features are announced behind the size of packets: "QStartNoAckMode+".
	Features string
	// Answers are those to requests with a beginning, before all others: "qXfer:auxv:read:" is answered as a whole
	// object. nil ends the connection.
	Answers map[string][]byte
	// Silent, if set, tells which requests have no answer.
	Silent func(request string) bool

	mu       sync.Mutex
	requests []string
	thread   int
	quiet    bool
}

// Requests are those that came so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Listen serves one connection after the other at an address of this machine, for as long as the test runs.
func (s *Server) Listen(t testing.TB) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.Serve(c)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// Serve serves a connection until it ends.
func (s *Server) Serve(c io.ReadWriter) {
	s.quiet = false
	for r := bufio.NewReader(c); ; {
		request, err := receive(r)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, request)
		s.mu.Unlock()
		if s.Silent != nil && s.Silent(request) {
			continue
		}
		if !s.quiet {
			if _, err := c.Write([]byte{'+'}); err != nil {
				return
			}
		}
		reply, ok := s.answer(request)
		if !ok {
			return
		}
		if _, err := c.Write(packet(reply)); err != nil {
			return
		}
	}
}

func receive(r *bufio.Reader) (request string, err error) {
	if _, err := r.ReadBytes('$'); err != nil {
		return "", err
	}
	request, err = r.ReadString('#')
	if err == nil {
		_, err = io.ReadFull(r, make([]byte, 2))
	}
	return strings.TrimSuffix(request, "#"), err
}

// packet frames a reply, with what the framing uses escaped.
func packet(reply []byte) []byte {
	out, sum := []byte{'$'}, byte(0)
	for _, b := range reply {
		if strings.IndexByte("$#}*", b) >= 0 {
			out, sum, b = append(out, '}'), sum+'}', b^0x20
		}
		out, sum = append(out, b), sum+b
	}
	return fmt.Appendf(out, "#%02x", sum)
}

func (s *Server) answer(request string) (reply []byte, ok bool) {
	for prefix, data := range s.Answers {
		if strings.HasPrefix(request, prefix) {
			return object(request, data), data != nil
		}
	}
	var addr, size uint64
	switch {
	case strings.HasPrefix(request, "qSupported"):
		return []byte("PacketSize=1000;" + s.Features), true
	case request == "QStartNoAckMode":
		s.quiet = true
		return []byte("OK"), true
	case request == "?":
		return []byte("T05"), true
	case request == "qfThreadInfo":
		for i := range s.Snapshot.Threads {
			reply = fmt.Appendf(reply, ",%x", i+1)
		}
		return append([]byte{'m'}, reply[1:]...), true
	case request == "qsThreadInfo":
		return []byte("l"), true
	case strings.HasPrefix(request, "Hg"):
		if _, err := fmt.Sscanf(request, "Hg%x", &s.thread); err != nil || s.thread < 0 || s.thread > len(s.Snapshot.Threads) {
			return []byte("E01"), true
		}
		return []byte("OK"), true
	case request == "g":
		return s.registers(), true
	case request == "D":
		return []byte("OK"), true
	}
	if n, _ := fmt.Sscanf(request, "m%x,%x", &addr, &size); n == 2 {
		return s.memory(addr, size), true
	}
	return nil, true
}

// object is the part of an object that was asked for, where a request asks for a part.
func object(request string, data []byte) []byte {
	if !strings.HasPrefix(request, "qXfer:") {
		return data
	}
	var from, size int
	if n, _ := fmt.Sscanf(request[strings.LastIndex(request, ":")+1:], "%x,%x", &from, &size); n != 2 || from > len(data) {
		return []byte("E01")
	}
	if rest := data[from:]; len(rest) > size {
		return append([]byte{'m'}, rest[:size]...)
	}
	return append([]byte{'l'}, data[from:]...)
}

// registers is the g packet, by the processor's own layout.
func (s *Server) registers() []byte {
	l := s.Snapshot.Arch.Layouts[cpu.GDBPacket]
	out := bytes.Repeat([]byte("xx"), l.Size)
	regs := &s.Snapshot.Threads[max(s.thread, 1)-1].Regs
	for _, slot := range l.Slots {
		v, ok := regs.Lookup(slot.Reg)
		for i := range slot.Size {
			at := slot.Offset + i
			if s.Snapshot.Arch.BigEndian {
				at = slot.Offset + slot.Size - 1 - i
			}
			if ok {
				hex.Encode(out[2*at:], []byte{byte(v >> (8 * i))})
			}
		}
	}
	return out
}

func (s *Server) memory(addr, size uint64) []byte {
	data := make([]byte, min(size, 2048))
	n := s.Snapshot.Memory.Read(addr, data)
	if n == 0 {
		return []byte("E14")
	}
	return hex.AppendEncode(nil, data[:n])
}

// MemoryMap is the snapshot's memory as a server describes it.
func (s *Server) MemoryMap() []byte {
	b := []byte(`<memory-map>`)
	for _, seg := range s.Snapshot.Memory.Segments() {
		b = fmt.Appendf(b, `<memory type="ram" start="%#x" length="%#x"/>`, seg.Addr, seg.Size())
	}
	return append(b, "</memory-map>"...)
}
