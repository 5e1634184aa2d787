package goroutines

import (
	"testing"

	"github.com/backsight/backsight/target"
)

// flat is memory from base on.
type flat struct {
	base uint64
	data []byte
}

func (f *flat) Read(addr uint64, dst []byte) int {
	if off := addr - f.base; off < uint64(len(f.data)) {
		return copy(dst, f.data[off:])
	}
	return 0
}

// put writes a number of so many bytes at an address.
func (f *flat) put(r Reader, addr, v uint64, size int) {
	b := f.data[addr-f.base:]
	if size == 4 {
		r.order().PutUint32(b, uint32(v))
	} else {
		r.order().PutUint64(b, v)
	}
}

const base, listAt, arrayAt, mainAt, otherAt = 0x40_0000, 0x40_0a00, 0x40_2000, 0x40_3000, 0x40_4000

// runtimeOf is the memory of a runtime: a list of the main goroutine and another one, whose goid is so many words from the beginning of g.
func runtimeOf(word int, big bool, goid int) (Reader, *flat) {
	f := &flat{base, make([]byte, 0x8000)}
	r := Reader{f, word, big}
	w := uint64(word)
	for i, v := range []uint64{arrayAt, 2, 4} {
		f.put(r, listAt+uint64(i)*w, v, word)
	}
	for i, g := range []uint64{mainAt, otherAt} {
		f.put(r, arrayAt+uint64(i)*w, g, word)
		f.put(r, g, 0x1000, word)
		f.put(r, g+w, 0x2000, word)
		f.put(r, g+7*w, 0x1800, word)
		f.put(r, g+9*w, g, word)
		at := g + uint64(goid*word)
		f.put(r, at-8, 4, 4)
		f.put(r, at, uint64(1+17*i), 8)
	}
	return r, f
}

// TestFind: the list of goroutines is found in the data of processors of both widths and byte orders, of every version (goid is 18 to 20
// words from the beginning of g), and wherever else numbers look like a list.
func TestFind(t *testing.T) {
	for _, word := range []int{4, 8} {
		for _, big := range []bool{false, true} {
			for goid := 18; goid <= 20; goid++ {
				r, f := runtimeOf(word, big, goid)
				for i, v := range []uint64{arrayAt, 3, 2, otherAt, 1, 1, mainAt, 2, 2} { // more than there is room for; no array; no g
					f.put(r, base+0x100+uint64(i*word), v, word)
				}
				l, ok := r.Find([]target.Range{{Lo: base, Hi: base + 0x1000}}, func(List) bool { return true })
				if !ok || l != (List{listAt, arrayAt, 2}) || r.List(listAt) != l {
					t.Errorf("%d bytes, big-endian %t, goid at %d: %+v, %t", word, big, goid, l, ok)
				}
				n := 0
				r.Each(l, func(addr uint64, g []byte) bool {
					used, all := r.Stack(g)
					if n++; used != (target.Range{Lo: 0x1800, Hi: 0x2000}) || all.Lo != 0x1000 || r.M(g) != 0 {
						t.Errorf("stack %x of %x at %#x", used, all, addr)
					}
					return true
				})
				if n != 2 {
					t.Errorf("%d goroutines", n)
				}
			}
		}
	}
	r, _ := runtimeOf(8, false, 19)
	if _, ok := r.Find([]target.Range{{Lo: base, Hi: listAt}, {Lo: listAt + 8, Hi: base + 0x8000}, {Lo: 1 << 40, Hi: 1 << 50}}, func(List) bool { return true }); ok {
		t.Error("a list where none is")
	}
}

// FuzzFind: whatever is in memory, the search ends, and what it finds lies in memory.
func FuzzFind(f *testing.F) {
	for _, word := range []int{4, 8} {
		_, m := runtimeOf(word, word == 4, 19)
		f.Add(m.data, word == 4)
	}
	f.Fuzz(func(t *testing.T, data []byte, narrow bool) {
		m := &flat{base, data}
		r := Reader{m, 8, false}
		if narrow {
			r.Word, r.Big = 4, true
		}
		l, ok := r.Find([]target.Range{{Lo: base, Hi: base + uint64(len(data))}}, func(List) bool { return true })
		n := 0
		r.Each(l, func(addr uint64, g []byte) bool {
			if n++; addr-base >= uint64(len(data)) {
				t.Errorf("a goroutine at %#x", addr)
			}
			return true
		})
		if ok && n == 0 || n > l.Count {
			t.Errorf("%d goroutines of %d", n, l.Count)
		}
	})
}
