package bin

import (
	"errors"
	"math"
	"testing"
)

// TestIntegers: integers of all sizes, in both byte orders.
func TestIntegers(t *testing.T) {
	data := []byte{0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88}
	for _, tt := range []struct {
		n           int
		little, big uint64
	}{
		{0, 0, 0},
		{1, 0x81, 0x81},
		{2, 0x8281, 0x8182},
		{3, 0x838281, 0x818283},
		{4, 0x84838281, 0x81828384},
		{7, 0x87868584838281, 0x81828384858687},
		{8, 0x8887868584838281, 0x8182838485868788},
	} {
		for _, big := range []bool{false, true} {
			want := tt.little
			if big {
				want = tt.big
			}
			r := New(data, big)
			if got := r.Uint(tt.n); got != want || r.Offset() != tt.n {
				t.Errorf("Uint(%d), big %t = %#x, want %#x", tt.n, big, got, want)
			}
			r = New(data, big)
			fixed := want
			switch tt.n {
			case 1:
				fixed = uint64(r.U8())
			case 2:
				fixed = uint64(r.U16())
			case 4:
				fixed = uint64(r.U32())
			case 8:
				fixed = r.U64()
			}
			if fixed != want {
				t.Errorf("U%d, big %t = %#x, want %#x", 8*tt.n, big, fixed, want)
			}
			r = New(data, big)
			signed := int64(0)
			if tt.n > 0 {
				signed = int64(want<<(64-8*tt.n)) >> (64 - 8*tt.n)
			}
			if got := r.Int(tt.n); got != signed {
				t.Errorf("Int(%d), big %t = %d, want %d", tt.n, big, got, signed)
			}
		}
	}
}

// A file may state any address size: sizes that are none are errors.
func TestWidths(t *testing.T) {
	for _, n := range []int{-1, 9, 255, math.MaxInt, math.MinInt} {
		r := New(make([]byte, 300), false)
		if r.Uint(n) != 0 || r.Err() == nil {
			t.Errorf("Uint(%d) is no error", n)
		}
		r = New(make([]byte, 300), true)
		if r.Int(n) != 0 || r.Err() == nil {
			t.Errorf("Int(%d) is no error", n)
		}
	}
}

// TestLEB128: LEB128 numbers, signed and unsigned, up to those that do not fit 64 bits.
func TestLEB128(t *testing.T) {
	nines := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}
	long := make([]byte, 40)
	for i := range long {
		long[i] = 0x80
	}
	for _, tt := range []struct {
		data     []byte
		unsigned uint64
		signed   int64
		ok       bool
	}{
		{[]byte{0}, 0, 0, true},
		{[]byte{2}, 2, 2, true},
		{[]byte{0x7f}, 127, -1, true},                         // DWARF 5, figures in §7.6
		{[]byte{0x80, 0x01}, 128, 128, true},                  //
		{[]byte{0x80, 0x7f}, 0x3f80, -128, true},              //
		{[]byte{0xff, 0x00}, 127, 127, true},                  //
		{[]byte{0x81, 0x7f}, 0x3f81, -127, true},              //
		{[]byte{0x80, 0x80, 0x00}, 0, 0, true},                // padded
		{nines, math.MaxUint64, -1, true},                     // all 64 bits
		{append(nines[:9:9], 0x7f), math.MaxUint64, -1, true}, // more than 64 bits
		{[]byte{0x80}, 0, 0, false},
		{nil, 0, 0, false},
		{long, 0, 0, false},
	} {
		r := New(tt.data, false)
		if got := r.ULEB(); got != tt.unsigned || (r.Err() == nil) != tt.ok {
			t.Errorf("ULEB(%x) = %#x, %v", tt.data, got, r.Err())
		}
		r = New(tt.data, true)
		if got := r.SLEB(); got != tt.signed || (r.Err() == nil) != tt.ok {
			t.Errorf("SLEB(%x) = %d, %v", tt.data, got, r.Err())
		}
	}
}

// TestStrings: strings end at a zero byte, or are an error.
func TestStrings(t *testing.T) {
	r := New([]byte("one\x00\x00two"), false)
	if s := r.CString(); s != "one" {
		t.Errorf("first = %q", s)
	}
	if s := r.CString(); s != "" || r.Err() != nil {
		t.Errorf("empty = %q, %v", s, r.Err())
	}
	if s := r.CString(); s != "" || !errors.Is(r.Err(), ErrShort) || r.Offset() != 5 {
		t.Errorf("without NUL = %q, %v at %d", s, r.Err(), r.Offset())
	}
}

// The first error stays, the offset too, and everything after it is zero.
func TestStickyError(t *testing.T) {
	r := New([]byte{1, 2, 3, 4, 5}, false)
	r.U8()
	r.U64()
	first := r.Err()
	if !errors.Is(first, ErrShort) || first.Error() != "at offset 0x1: data ends too early" {
		t.Errorf("error = %v", first)
	}
	r.Seek(0)
	r.Skip(1)
	r.Align(4)
	if r.U8() != 0 || r.U16() != 0 || r.U32() != 0 || r.ULEB() != 0 || r.SLEB() != 0 || r.CBytes() != nil || r.Bytes(1) != nil || r.Int(1) != 0 {
		t.Error("a read after an error has a value")
	}
	if r.Err() != first || r.Offset() != 1 || r.Len() != 4 {
		t.Errorf("error = %v at %d", r.Err(), r.Offset())
	}
}

// TestMoves: a reader moves within its bytes only; a move beyond is an error and leaves the reader where it was.
func TestMoves(t *testing.T) {
	data := make([]byte, 10)
	for _, tt := range []struct {
		name string
		move func(r *Reader)
		off  int
		ok   bool
	}{
		{"Skip", func(r *Reader) { r.Skip(3) }, 3, true},
		{"Skip to the end", func(r *Reader) { r.Skip(10) }, 10, true},
		{"Skip beyond", func(r *Reader) { r.Skip(11) }, 0, false},
		{"Skip 2⁶⁴-1", func(r *Reader) { r.Skip(2); r.Skip(math.MaxUint64) }, 2, false},
		{"Seek", func(r *Reader) { r.Skip(3); r.Seek(1) }, 1, true},
		{"Seek to the end", func(r *Reader) { r.Seek(10) }, 10, true},
		{"Seek beyond", func(r *Reader) { r.Seek(11) }, 0, false},
		{"Seek 2⁶⁴-1", func(r *Reader) { r.Seek(math.MaxUint64) }, 0, false},
		{"Align", func(r *Reader) { r.Skip(5); r.Align(4) }, 8, true},
		{"Align where aligned", func(r *Reader) { r.Skip(8); r.Align(4) }, 8, true},
		{"Align beyond", func(r *Reader) { r.Skip(9); r.Align(4) }, 9, false},
	} {
		r := New(data, false)
		tt.move(&r)
		if r.Offset() != tt.off || (r.Err() == nil) != tt.ok {
			t.Errorf("%s: at %d, %v", tt.name, r.Offset(), r.Err())
		}
	}
}

// What Bytes returns cannot be appended to over the bytes behind it.
func TestBytesAreClipped(t *testing.T) {
	data := []byte{1, 2, 3}
	r := New(data, false)
	_ = append(r.Bytes(1), 9)
	if data[1] != 2 {
		t.Error("append wrote into the data")
	}
}

// TestLimit: a claimed count is cut to what there can be.
func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		n    uint64
		most int
		want int
	}{{0, 5, 0}, {5, 5, 5}, {6, 5, 5}, {math.MaxUint64, 5, 5}, {3, 0, 0}} {
		if got := Limit(tt.n, tt.most); got != tt.want {
			t.Errorf("Limit(%d, %d) = %d, want %d", tt.n, tt.most, got, tt.want)
		}
	}
}

func TestReaderAllocatesNothing(t *testing.T) {
	data := []byte{1, 0, 2, 0, 0, 0, 0x80, 1, 'x', 0}
	n := testing.AllocsPerRun(100, func() {
		r := New(data, false)
		r.U16()
		r.U32()
		r.ULEB()
		r.CBytes()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzReader runs the operations that the first bytes name over the rest. The
// offset never leaves the data and never moves after an error.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"), []byte("some data\x00and more"), true)
	f.Add([]byte{4, 4, 4}, []byte{0x80, 0x80, 0x80}, false)
	f.Fuzz(func(t *testing.T, ops, data []byte, big bool) {
		r := New(data, big)
		for _, op := range ops {
			before, failed := r.Offset(), r.Err()
			arg := uint64(op >> 4)
			switch op & 15 {
			case 0:
				r.U8()
			case 1:
				r.U16()
			case 2:
				r.U32()
			case 3:
				r.U64()
			case 4:
				r.ULEB()
			case 5:
				r.SLEB()
			case 6:
				r.CString()
			case 7:
				r.Uint(int(arg))
			case 8:
				r.Int(int(arg))
			case 9:
				r.Bytes(arg)
			case 10:
				r.Seek(arg << 2)
			case 11:
				r.Skip(-arg)
			case 12:
				r.Align(1 << (arg & 3))
			}
			if r.Offset() < 0 || r.Offset()+r.Len() != len(data) || r.Len() < 0 {
				t.Fatalf("op %d: offset %d, %d left of %d", op, r.Offset(), r.Len(), len(data))
			}
			if failed != nil && (r.Err() != failed || r.Offset() != before) {
				t.Fatalf("op %d moved after an error", op)
			}
		}
	})
}

func BenchmarkU32(b *testing.B) {
	data := make([]byte, 4096)
	for b.Loop() {
		r := New(data, false)
		for r.Len() > 0 {
			r.U32()
		}
	}
}

// TestOrder: both byte orders decode what a Reader does.
func TestOrder(t *testing.T) {
	data := []byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	for _, big := range []bool{false, true} {
		order, two, four, eight := Order(big), New(data, big), New(data, big), New(data, big)
		if got, want := order.U16(data), two.U16(); got != want {
			t.Errorf("U16, big-endian %v: %#x, want %#x", big, got, want)
		}
		if got, want := order.U32(data), four.U32(); got != want {
			t.Errorf("U32, big-endian %v: %#x, want %#x", big, got, want)
		}
		if got, want := order.U64(data), eight.U64(); got != want {
			t.Errorf("U64, big-endian %v: %#x, want %#x", big, got, want)
		}
	}
}
