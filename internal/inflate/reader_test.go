package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// samples are data of different kinds, by name.
func samples() map[string][]byte {
	noise := make([]byte, 300_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	// Words of all lengths from one to 300 bytes, seldom and often: long codes.
	var words []byte
	for range 20_000 {
		n := 1 + int(300*r.ExpFloat64()/20)%300
		at := int(200 * r.ExpFloat64() * 5)
		words = append(words, noise[at:at+n]...)
	}
	return map[string][]byte{
		"nothing": {},
		"byte":    {7},
		"noise":   noise,
		"words":   words,
		"text":    []byte(strings.Repeat("what comes after this comes again, ", 9999)),
		"zeros":   make([]byte, 1_000_000),
		"pattern": bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 50_000),
	}
}

func compress(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// TestReader reads what compress/flate wrote, with other data behind it, one stream after
// another.
func TestReader(t *testing.T) {
	var d Reader
	for name, data := range samples() {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 6, 9} {
			t.Run(fmt.Sprint(name, level), func(t *testing.T) {
				z := compress(t, data, level)
				d.Reset(append(bytes.Clone(z), "behind"...))
				got, err := io.ReadAll(&d)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %v, want %d", len(got), err, len(data))
				}
				if d.Used() != len(z) {
					t.Errorf("%d bytes used, want %d", d.Used(), len(z))
				}
			})
		}
	}
}

// TestSmallReads checks Read against io.Reader's contract.
func TestSmallReads(t *testing.T) {
	data := samples()["words"]
	if err := iotest.TestReader(NewReader(compress(t, data, 6)), data); err != nil {
		t.Error(err)
	}
}

// TestSkip: what is skipped is what would have been read, as far as there is anything.
func TestSkip(t *testing.T) {
	data := samples()["words"]
	z := compress(t, data, 6)
	for _, n := range []int{0, 1, full - 1, full, full + 1, len(data) - 1, len(data), len(data) + 1} {
		d := NewReader(z)
		skipped := d.Skip(uint64(n))
		rest, err := io.ReadAll(d)
		if want := min(n, len(data)); skipped != uint64(want) || !bytes.Equal(rest, data[want:]) || err != nil {
			t.Errorf("%d of %d: %d skipped, %d left, %v", n, len(data), skipped, len(rest), err)
		}
	}
}

// TestCut: of a stream that ends early, all that comes out is right.
func TestCut(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	data := samples()["words"][:5_000]
	for _, level := range []int{flate.NoCompression, 1, 9} {
		z := compress(t, data, level)
		longest := 0
		for n := range z {
			got, err := io.ReadAll(NewReader(z[:n]))
			if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(data, got) {
				t.Fatalf("level %d, %d of %d bytes: %d bytes, %v", level, n, len(z), len(got), err)
			}
			longest = max(longest, len(got))
		}
		if longest < len(data)*9/10 {
			t.Errorf("level %d: %d bytes at most", level, longest)
		}
	}
}

// bitString makes a stream of bits, as they follow one another.
func bitString(s string) (stream []byte) {
	for i, c := range []byte(strings.ReplaceAll(s, " ", "")) {
		if i%8 == 0 {
			stream = append(stream, 0)
		}
		stream[i/8] |= (c - '0') << (i % 8)
	}
	return append(stream, 0, 0, 0, 0) // lest it ends too early
}

// TestBits reads streams bit by bit. Codes stand as in RFC 1951 §3.2.6, numbers with the
// lowest bit first.
func TestBits(t *testing.T) {
	const (
		fixed   = "1 10 "
		dynamic = "1 01 "
		a       = "10010001 "
		eob     = "0000000 "
	)
	for _, c := range []struct{ bits, want string }{
		{fixed + eob, ""},
		{fixed + a + a + eob, "aa"},
		{fixed + a + "0000001 00000" + eob, "aaaa"},                          // length 3, distance 1
		{fixed + a + a + "0000001 00001" + eob, "aaaaa"},                     // length 3, distance 2
		{fixed + a + "0000001 00001" + eob, "corrupt"},                       // length 3, distance 2
		{fixed + a + "11000101 00000" + eob, "a" + strings.Repeat("a", 258)}, // length 258
		{fixed + a + "11000110" + eob, "corrupt"},                            // symbol 286
		{fixed + a + "0000001 11110" + eob, "corrupt"},                       // distance symbol 30
		{"1 11", "corrupt"},                                                  // block type 3
		{"1 00 00000 1000000000000000 0111111111111111 10000110", "a"},
		{"1 00 00000 1000000000000000 1111111111111111 10000110", "corrupt"},
		{"0 10 " + a + eob + "0 00 000" + "0000000000000000 1111111111111111" + fixed + a + eob, "aa"},
		{dynamic + "11111 00000 0000", "corrupt"},                                   // 288 literals and lengths
		{dynamic + "00000 11111 0000", "corrupt"},                                   // 32 distances
		{dynamic + "00000 00000 0000 100 100 100 000", "corrupt"},                   // three codes of one bit
		{dynamic + "00000 00000 0000 000 000 010 000", "corrupt"},                   // one code of two bits
		{dynamic + "00000 00000 0000 000 000 000 000 0", "corrupt"},                 // no code
		{dynamic + "00000 00000 0000 100 000 100 000 0", "corrupt"},                 // repeats the length before the first
		{dynamic + "00000 00000 0000 000 100 100 000 11111111 11111111", "corrupt"}, // 276 lengths
	} {
		got, err := io.ReadAll(NewReader(bitString(c.bits)))
		if s := string(got); err == nil && s != c.want || errors.Is(err, ErrCorrupt) != (c.want == "corrupt") {
			t.Errorf("%s: %q, %v, want %q", c.bits, s, err, c.want)
		}
	}
}

// FuzzReader compares with compress/flate. Where both fail, both may have more or less
// of what comes before.
func FuzzReader(f *testing.F) {
	for _, data := range samples() {
		data = data[:min(len(data), 3000)]
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 9} {
			f.Add(compress(f, data, level))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const most = 1 << 20
		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(stream)), most))
		got, err := io.ReadAll(io.LimitReader(NewReader(stream), most))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if err == nil && len(got) != len(want) || !bytes.HasPrefix(got, want) && !bytes.HasPrefix(want, got) {
			t.Fatalf("%d bytes, want %d", len(got), len(want))
		}
	})
}

func BenchmarkReader(b *testing.B) {
	data := samples()["words"]
	stream := compress(b, data, 9)
	for _, c := range []struct {
		name string
		open func() io.Reader
	}{
		{"inflate", func() io.Reader { return NewReader(stream) }},
		{"compress/flate", func() io.Reader { return flate.NewReader(bytes.NewReader(stream)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if n, err := io.Copy(io.Discard, c.open()); err != nil || n != int64(len(data)) {
					b.Fatal(n, err)
				}
			}
		})
	}
}
