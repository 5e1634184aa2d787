package gdbremote

import (
	"net"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
)

// serve answers requests by their beginning, as a server does, until the client is
// gone.
func serve(t *testing.T, answers map[string]string) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		c := newConn(server)
		for {
			request, err := c.receive()
			if err != nil {
				return
			}
			reply := ""
			for prefix, a := range answers {
				if strings.HasPrefix(string(request), prefix) {
					reply = a
				}
			}
			go newConn(server).send([]byte(reply))
		}
	}()
	t.Cleanup(func() { client.Close(); server.Close() })
	return drained{client}
}

// drained writes acknowledgements nowhere: a pipe has no buffer to leave them in.
type drained struct{ net.Conn }

func (d drained) Write(b []byte) (int, error) {
	if string(b) == "+" {
		return 1, nil
	}
	return d.Conn.Write(b)
}

func arch(t *testing.T) *cpu.Arch {
	t.Helper()
	a, ok := cpu.Set(mips.Archs()).ByName("mips", "o32", true)
	if !ok {
		t.Fatal("no mips")
	}
	return a
}

// The description says where in the g packet a register is: here sp, then two
// vectors' worth of something else, then pc.
func TestRegistersByDescription(t *testing.T) {
	c, err := New(t.Context(), serve(t, map[string]string{
		"qSupported":                     "PacketSize=1000;qXfer:features:read+",
		"qXfer:features:read:target.xml": `l<target><include href="core.xml"/></target>`,
		"qXfer:features:read:core.xml":   `l<feature><reg name="sp" bitsize="32" regnum="2"/><reg name="q" bitsize="128"/><reg name="pc" bitsize="32"/></feature>`,
		"g":                              "7fff0010" + strings.Repeat("00", 16) + "xxxxxxxx",
	}), arch(t))
	if err != nil {
		t.Fatal(err)
	}
	var regs cpu.Registers
	if err := c.Registers(&regs); err != nil {
		t.Fatal(err)
	}
	if sp, ok := regs.Lookup(c.arch.SP); !ok || sp != 0x7fff0010 {
		t.Errorf("sp = %#x %t", sp, ok)
	}
	if pc, ok := regs.Lookup(c.arch.PC); ok {
		t.Errorf("pc = %#x; the server said that it does not know", pc)
	}
}

func TestMemoryEndsAtTheFirstGap(t *testing.T) {
	c, err := New(t.Context(), serve(t, map[string]string{"qSupported": "PacketSize=800", "m1000,": strings.Repeat("ab", 1024), "m1400,": "E14"}), arch(t))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	if n, err := c.Memory(0x1000, buf); n != 1024 || err != nil || buf[1023] != 0xab {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestStops: a stop reply tells the signal, and which thread it was, or that the program has ended.
func TestStops(t *testing.T) {
	for reply, want := range map[string]Stop{"T05thread:01;": {Signal: 5, Thread: "01"}, "S0b": {Signal: 11}, "W00": {Exited: true}} {
		if got, ok := ParseStop([]byte(reply)); !ok || got != want {
			t.Errorf("%s: %+v %v", reply, got, ok)
		}
	}
	for _, reply := range []string{"", "T", "Txx", "OK!", "Q05"} {
		if got, ok := ParseStop([]byte(reply)); ok {
			t.Errorf("%q: %+v", reply, got)
		}
	}
}
