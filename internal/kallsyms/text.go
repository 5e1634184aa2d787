package kallsyms

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// text is a list of symbols in lines:
//
//	ffff800008010000 T _stext            System.map, nm
//	ffffffffc0000000 t crashy_write	[crashy]    /proc/kallsyms
type text []byte

// maxText bounds the text, so that 32 bits say where a line begins.
const maxText = 1 << 30

// Parse reads symbols out of text as nm, System.map and /proc/kallsyms have it, in any
// order. Lines in another form are skipped; where most are, the text is none of these, an
// error. data must not change.
func Parse(data []byte) (*Table, error) {
	if len(data) > maxText {
		return nil, fmt.Errorf("a list of symbols of more than %d bytes", maxText)
	}
	t, lines := &Table{named: new(index), names: text(data)}, 0
	for at := 0; at < len(data); {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			n = len(data) - at
		}
		if addr, ok := lineAddr(data[at : at+n]); ok {
			t.addrs, t.refs = append(t.addrs, addr), append(t.refs, uint32(at))
		}
		at += n + 1
		lines++
	}
	if len(t.addrs) == 0 || len(t.addrs) < lines/2 {
		return nil, fmt.Errorf("%d of %d lines are symbols (address, letter, name)", len(t.addrs), lines)
	}
	if t.addrs[len(t.addrs)-1] == 0 && t.addrs[len(t.addrs)/2] == 0 {
		return nil, fmt.Errorf("all addresses are 0, as unprivileged users see /proc/kallsyms")
	}
	sort.Sort((*byAddr)(t))
	return t, nil
}

// lineAddr is the address of a line that has an address, a letter and a name.
func lineAddr(line []byte) (uint64, bool) {
	i := bytes.IndexByte(line, ' ')
	if i < 1 || i > 16 || len(line) < i+4 || line[i+2] != ' ' {
		return 0, false
	}
	kind := line[i+1] | 0x20
	addr, err := strconv.ParseUint(string(line[:i]), 16, 64)
	return addr, err == nil && (kind >= 'a' && kind <= 'z')
}

// symbol implements namer.
func (t text) symbol(ref uint32) (name, module string, kind byte) {
	line, _, _ := bytes.Cut(t[ref:min(len(t), int(ref)+2*maxToken)], []byte{'\n'})
	_, after, _ := bytes.Cut(line, []byte{' '})
	rest := string(after)
	if len(rest) < 3 {
		return "", "", 0
	}
	words := strings.Fields(rest[2:])
	if len(words) == 0 {
		return "", "", 0
	}
	if len(words) > 1 {
		module = strings.Trim(words[1], "[]")
	}
	return words[0], module, rest[0]
}

// byAddr sorts a table by address. Of one address the name comes first that the kernel
// prefers (scripts/kallsyms.c, compare_symbols): no weak one, few underscores.
type byAddr Table

func (b *byAddr) Len() int { return len(b.addrs) }
func (b *byAddr) Swap(i, j int) {
	b.addrs[i], b.addrs[j] = b.addrs[j], b.addrs[i]
	b.refs[i], b.refs[j] = b.refs[j], b.refs[i]
}
func (b *byAddr) Less(i, j int) bool {
	if b.addrs[i] != b.addrs[j] {
		return b.addrs[i] < b.addrs[j]
	}
	if wi, wj := b.worth(i), b.worth(j); wi != wj {
		return wi < wj
	}
	return b.refs[i] < b.refs[j]
}

// worth orders names of one address, the best first.
func (b *byAddr) worth(i int) int {
	name, _, kind := b.names.symbol(b.refs[i])
	w := len(name) - len(strings.TrimLeft(name, "_"))
	if !isCode(kind) || kind|0x20 == 'w' {
		w += 100
	}
	return w
}
