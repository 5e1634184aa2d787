package hexfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The examples of the specifications, and what they mean.
const (
	intelText = ":020000040800F2\r\n:10010000214601360121470136007EFE09D2190140\r\n" +
		":100110002146017E17C20001FF5F16002148011928\r\n:0400000508000131BD\r\n:00000001FF\r\nbehind the end\r\n"
	motorolaText = "S00F000068656C6C6F202020202000003C\nS11F00007C0802A6900100049421FFF07C6C1B787C8C23783C6000003863000026\n" +
		"S315080000000102030405060708090A0B0C0D0E0F105A\nS5030003F9\nS70508000131C0\n"
	tiText = "@F000\n31 40 00 03 B2 40 80 5A 20 01 D2 D3 22 00 D2 E3\n21 00\n@FFFE\n00 F0\nq\n"
)

// TestFormats: the runs of bytes, and the entry, that each format tells.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"intel", intelText, "8000100+32 entry 8000131"},
		{"motorola", motorolaText, "0+28 8000000+16 entry 8000131"},
		{"ti", tiText, "f000+18 fffe+2 entry 0"},
	} {
		m, err := Parse([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := summary(m); got != c.want || len(m.Issues) > 0 {
			t.Errorf("%s: %s; want %s; issues %q", c.name, got, c.want, m.Issues)
		}
	}
}

func summary(m *Memory) string {
	var s strings.Builder
	for _, r := range m.Runs {
		fmt.Fprintf(&s, "%x+%d ", r.Addr, len(r.Data))
	}
	return s.String() + fmt.Sprintf("entry %x", m.Entry)
}

// TestDamage: a line that lost a digit or has a wrong bit is left out and said.
func TestDamage(t *testing.T) {
	bad := strings.Replace(intelText, ":100110002146", ":100110002147", 1)
	m, err := Parse([]byte(bad))
	if err != nil || summary(m) != "8000100+16 entry 8000131" {
		t.Errorf("%s, %v", summary(m), err)
	}
	if len(m.Issues) != 1 || m.Issues[0] != "line 3: the checksum is wrong; left out" {
		t.Errorf("issues %q", m.Issues)
	}
	if _, err := Parse([]byte(":00000001FF\n")); !errors.Is(err, ErrNoRecords) {
		t.Errorf("a file without bytes: %v", err)
	}
}

// TestSniff: only such files, not what also begins with their first character.
func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{intelText: true, motorolaText: true, tiText: true,
		":wq, he typed": false, "S1 is a register": false, "@home\nhello": false, "\x7fELF": false, "": false} {
		if got := Sniff([]byte(text)); got != want {
			t.Errorf("%.12q: %v", text, got)
		}
	}
}

// FuzzParse: no more bytes than half the digits, whatever the text says.
func FuzzParse(f *testing.F) {
	for _, s := range []string{intelText, motorolaText, tiText} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _ := Parse(text)
		if m == nil {
			return
		}
		n := 0
		for _, r := range m.Runs {
			n += len(r.Data)
		}
		if 2*n > len(text) {
			t.Errorf("%d bytes out of %d characters", n, len(text))
		}
	})
}
