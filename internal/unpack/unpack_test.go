package unpack

import (
	"bytes"
	"os/exec"
	"testing"

	lib "github.com/pierrec/lz4/v4"
)

// sample is text with repetitions near and far, and a run of zeros.
func sample() []byte {
	var b bytes.Buffer
	for i := range 20_000 {
		b.WriteString("vfs_write+0x")
		b.WriteByte(byte('a' + i%23))
		b.WriteByte(byte(i * i >> 3))
		// calls as the filters for branches see them
		b.Write([]byte{0xe8, byte(i), byte(i >> 8), 0, 0, 0x90, 0xe9, byte(i), 0xe8, 0xff, 0xff, byte(i), byte(i >> 4), 0, 0xeb})
		b.Write([]byte{byte(i), byte(i >> 8), 0, 0x94, byte(i), byte(i), byte(i), 0x90})
	}
	b.Write(make([]byte, 100_000))
	return b.Bytes()
}

// tool packs data by a program, and skips the test where there is none.
func tool(t *testing.T, data []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%s %v: %v", name, args, err)
	}
	return out
}

// TestUnpack: what the kernel's makefiles pack with, packed by the programs they call.
func TestUnpack(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for _, c := range [][]string{
		{"gzip", "-9c"}, {"bzip2", "-9c"}, {"xz", "-c"}, {"xz", "--check=crc32", "--x86", "--lzma2=dict=1MiB", "-c"},
		{"xz", "--check=crc32", "--arm", "--lzma2", "-c"}, {"xz", "--armthumb", "--lzma2", "-c"}, {"xz", "--arm64", "--lzma2", "-c"},
		{"xz", "--block-size=100000", "-c"}, {"lzma", "-9c"}, {"zstd", "-19", "-c"}, {"lz4", "-l", "-9", "-c"}, {"lzop", "-9", "-c"},
	} {
		t.Run(c[0]+c[1], func(t *testing.T) {
			want := sample()
			packed := tool(t, want, c[0], c[1:]...)
			f, ok := Recognise(packed)
			if !ok {
				t.Fatalf("not recognised: % x", packed[:8])
			}
			// The kernel's build appends the size of what it packed.
			got, err := f.Unpack(append(packed, 1, 2, 3, 4), len(want))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, want %d, error %v", f.Name, len(got), len(want), err)
			}
			if got, err := f.Unpack(packed, 1000); err == nil || len(got) > 1000 {
				t.Errorf("%s: %d bytes within a bound of 1000, error %v", f.Name, len(got), err)
			}
			if _, err := f.Unpack(packed[:len(packed)/2], len(want)); err == nil {
				t.Errorf("%s: half of a stream is no error", f.Name)
			}
		})
	}
}

// TestCutLZ4: a block that is cut short gives its beginning. The library that compressed the block gives nothing.
func TestCutLZ4(t *testing.T) {
	want := sample()
	packed := make([]byte, lib.CompressBlockBound(len(want)))
	n, err := lib.CompressBlock(want, packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	packed = packed[:n]
	for _, cut := range []int{n / 4, n / 2, n - 1} {
		got, err := LZ4(packed[:cut], len(want))
		if err == nil || !bytes.HasPrefix(want, got) || len(got) < cut/2 {
			t.Errorf("%d bytes of %d give %d, error %v", cut, n, len(got), err)
		}
		if k, err := lib.UncompressBlock(packed[:cut], make([]byte, len(want))); k != 0 || err == nil {
			t.Errorf("the library gives %d bytes of %d, error %v: it can replace lz4.go", k, cut, err)
		}
	}
}

// TestLZO: the block of Documentation/staging/lzo.rst's kinds of instructions, by hand.
func TestLZO(t *testing.T) {
	// 17+4: four literals; 0x40|…: 3 bytes from 4 back, then one literal; end.
	packed := []byte{21, 'a', 'b', 'c', 'd', 0x40 | 3<<2 | 1, 0, 'e', 0x11, 0, 0}
	if got, err := LZO(packed, 100); err != nil || string(got) != "abcdabce" {
		t.Errorf("%q, %v", got, err)
	}
	// 17, a version: 17+4; a run of 7<<3|1 zeros and 4, then two literals; end.
	zeros := []byte{17, 1, 21, 'a', 'b', 'c', 'd', 0x19, 0xfe, 0xff, 7, 'e', 'f', 0x11, 0, 0}
	if got, err := LZO(zeros, 100); err != nil || string(got) != "abcd"+string(make([]byte, 61))+"ef" {
		t.Errorf("%q, %v", got, err)
	}
	for _, limit := range []int{10, 64} {
		if got, err := LZO(zeros, limit); err == nil || len(got) > limit {
			t.Errorf("%d bytes within a bound of %d, error %v", len(got), limit, err)
		}
	}
	if _, err := LZO([]byte{21, 'a', 'b', 'c', 'd', 0x40 | 7<<2, 1}, 100); err == nil {
		t.Error("a copy from before the beginning is no error")
	}
}

// TestLzopBlockOfAnySize: a block that claims more bytes than an int of 32 bits counts is
// decompressed to what it holds, within the bound.
func TestLzopBlockOfAnySize(t *testing.T) {
	file := []byte("\x89LZO\x00\r\n\x1a\n" + "\x09\x00" + "\x20\x80\x01") // versions, method
	file = append(file, make([]byte, 4+8+1+4)...)                         // flags, mode and time, no name, checksum
	block := []byte{21, 'a', 'b', 'c', 'd', 0x40 | 3<<2 | 1, 0, 'e', 0x11, 0, 0}
	file = append(file, 0x80, 0, 0, 0, 0, 0, 0, byte(len(block)))
	file = append(append(file, block...), 0, 0, 0, 0)
	f, ok := Recognise(file)
	if !ok || f.Name != "lzop" {
		t.Fatal(f.Name)
	}
	if got, err := f.Unpack(file, 100); err != nil || string(got) != "abcdabce" {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte("\xfd7zXZ\x00\x00\x01\x69\x22\xde\x36\x02\x00\x21\x01\x16"))
	f.Add([]byte("\x02\x21\x4c\x18\x05\x00\x00\x00\x40abcd"))
	f.Add([]byte("\x89LZO\x00\r\n\x1a\n\x10\x30\x20\xa0\x09\x40\x01\x05\x03\x00\x00\x01"))
	f.Add([]byte{21, 'a', 'b', 'c', 'd', 0x4d, 0, 'e', 0x11, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		if z, ok := Recognise(data); ok {
			if out, _ := z.Unpack(data, limit); len(out) > limit {
				t.Fatalf("%s: %d bytes", z.Name, len(out))
			}
		}
		if out, _ := LZO(data, limit); len(out) > limit {
			t.Fatalf("LZO: %d bytes", len(out))
		}
		if out, _ := LZ4(data, limit); len(out) > limit {
			t.Fatalf("LZ4: %d bytes", len(out))
		}
	})
}
