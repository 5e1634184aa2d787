// Package btf reads the types that Linux kernels carry of themselves (CONFIG_DEBUG_INFO_BTF):
// at which offsets the fields of structures lie. The types need not come with debug information:
// the kernel loads them (/sys/kernel/btf/vmlinux), so that they lie in memory images.
//
// Specification: Linux Documentation/bpf/btf.rst.
package btf

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/backsight/backsight/internal/bin"
)

// Types are the types of a kernel.
type Types struct {
	types, strings []byte
	big            bool
	at             []uint32 // where type i+1 begins in types
}

const (
	magic      = 0xeb9f
	version    = 1
	headerSize = 24
)

// The kinds of types that matter here, and how many bytes follow the 12 of each: once, and for
// each of its members.
const (
	kindStruct   = 4
	kindUnion    = 5
	kindTypedef  = 8
	kindRestrict = 11 // behind typedef, volatile, const
	kindTypeTag  = 18
)

var following = [...]struct{ once, each int }{
	1: {once: 4}, 2: {}, 3: {once: 12}, kindStruct: {each: 12}, kindUnion: {each: 12}, 6: {each: 8}, 7: {},
	kindTypedef: {}, 9: {}, 10: {}, kindRestrict: {}, 12: {}, 13: {each: 8}, 14: {once: 4}, 15: {each: 12},
	16: {}, 17: {once: 4}, kindTypeTag: {}, 19: {each: 12},
}

// Find finds the types of a kernel in its data: where their header stands whose parts fit one
// another.
func Find(data []byte, big bool) (*Types, error) {
	head := []byte{magic & 0xff, magic >> 8, version, 0, headerSize, 0, 0, 0}
	if big {
		head = []byte{magic >> 8, magic & 0xff, version, 0, 0, 0, 0, headerSize}
	}
	for at, tried := 0, 0; tried < maxHeaders; tried++ {
		n := bytes.Index(data[at:], head)
		if n < 0 {
			break
		}
		if t, err := Parse(data[at+n:], big); err == nil {
			return t, nil
		}
		at += n + 1
	}
	return nil, errNone
}

// maxHeaders bounds the headers that are tried: modules may have types of their own.
const maxHeaders = 64

var errNone = errors.New("no BTF")

// Parse reads the types at the beginning of data.
func Parse(data []byte, big bool) (*Types, error) {
	r := bin.New(data, big)
	if m, v := r.U16(), r.U8(); m != magic || v != version {
		return nil, errNone
	}
	r.Skip(1)
	header := uint64(r.U32())
	typeOff, typeLen, strOff, strLen := uint64(r.U32()), uint64(r.U32()), uint64(r.U32()), uint64(r.U32())
	if err := r.Err(); err != nil {
		return nil, err
	}
	size := uint64(len(data))
	if header+typeOff+typeLen > size || header+strOff+strLen > size || strLen == 0 || data[header+strOff] != 0 {
		return nil, fmt.Errorf("the header's parts do not fit %d bytes", size)
	}
	t := &Types{types: data[header+typeOff:][:typeLen], strings: data[header+strOff:][:strLen], big: big}
	return t, t.index()
}

// index finds where each type begins.
func (t *Types) index() error {
	for at := 0; at < len(t.types); {
		k, err := t.typeAt(uint32(at))
		if err != nil {
			return err
		}
		t.at = append(t.at, uint32(at)) // a type has 12 bytes at least
		at += k.size
	}
	return nil
}

// typ is a type's first words.
type typ struct {
	name, next uint32 // next: the type that a typedef, a const and so on are of
	kind       int
	members    int
	bitfields  bool // members' offsets have a width in their upper byte
	size       int  // in bytes, members included
	body       uint32
}

func (t *Types) typeAt(at uint32) (k typ, err error) {
	r := bin.NewAt(t.types, uint64(at), t.big)
	name, info, next := r.U32(), r.U32(), r.U32()
	k = typ{name: name, next: next, kind: int(info >> 24 & 31), members: int(info & 0xffff), bitfields: info>>31 != 0, body: at + 12}
	if r.Err() != nil || k.kind == 0 || k.kind >= len(following) {
		return k, fmt.Errorf("the type at %#x is damaged", at)
	}
	f := following[k.kind]
	k.size = 12 + f.once + f.each*k.members
	if uint64(at)+uint64(k.size) > uint64(len(t.types)) {
		return k, fmt.Errorf("the type at %#x reaches beyond the types", at)
	}
	return k, nil
}

// byID is a type by its number, from 1 on.
func (t *Types) byID(id uint32) (k typ, ok bool) {
	if id == 0 || id > uint32(len(t.at)) {
		return k, false
	}
	k, err := t.typeAt(t.at[id-1])
	return k, err == nil
}

// from are the strings from an offset on, none outside of them.
func (t *Types) from(off uint32) []byte {
	return t.strings[min(uint64(off), uint64(len(t.strings))):]
}
