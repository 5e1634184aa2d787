package vmcore

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// TestModules: where the code of a module lies, as three generations of struct module say it.
func TestModules(t *testing.T) {
	const head, module, code = 0xffff_8000_0900_0100, 0xffff_8000_0100_4100, 0xffff_8000_0100_0000
	const listAt, nameAt, rangeAt = 8, 24, 0x140
	word := binary.LittleEndian.AppendUint64
	half := binary.LittleEndian.AppendUint32
	for _, c := range []struct {
		name string
		said []byte // at rangeAt
		code uint64 // its size
	}{
		{"until 6.3: base, size of all, size of the code", half(half(word(nil, code), 0x6000), 0x2000), 0x2000},
		{"since 6.4: base, size", half(half(word(nil, code), 0x2800), 0), 0x2800},
		{"since 6.13: base, is_rox, size", half(half(word(nil, code), 1), 0x2800), 0x2800},
		{"and not is_rox", half(half(word(nil, code), 0), 0x2800), 0x2800},
		{"of no size", half(half(word(nil, code), 0), 0), 0},
		{"too large", half(half(word(nil, code), 1), 0xffff_ffff), 0},
	} {
		data := make([]byte, 0x1000)
		binary.LittleEndian.PutUint64(data[0x100:], module+listAt)
		binary.LittleEndian.PutUint64(data[0x108:], module+listAt)
		structure := make([]byte, 0x2000)
		at := structure[0x100:]
		binary.LittleEndian.PutUint64(at[listAt:], head)
		binary.LittleEndian.PutUint64(at[listAt+8:], head)
		copy(at[nameAt:], "net_example")
		copy(at[rangeAt:], c.said)
		var b target.Builder
		b.Add(code, make([]byte, 0x4000), 0, target.PermRead|target.PermExec)
		b.Add(module&^0xfff, structure, 0, target.PermRead|target.PermWrite)
		b.Add(head&^0xfff, data, 0, target.PermRead|target.PermWrite)
		arch := arm64.Archs()[0]
		k := kernelImage{text: target.Range{Lo: head&^0xfff - 0x1000, Hi: head &^ 0xfff}, data: target.Range{Lo: head&^0xfff - 0x1000, Hi: head + 0x100}}
		found := moduleReader{arch, b.Memory(arch)}.list(&k)
		if len(found) != min(1, int(c.code)) {
			t.Errorf("%s: found %+v", c.name, found)
			continue
		}
		if c.code > 0 && (found[0].name != "net_example" || found[0].text != target.Range{Lo: code, Hi: code + c.code}) {
			t.Errorf("%s: %+v", c.name, found[0])
		}
	}
}
