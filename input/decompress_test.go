package input

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// TestUnpackedIsBounded: so many bytes come out as the floor has, and a thousand for
// each byte that went in. Zeros shrink by 1,032 in gzip, so that a megabyte is no
// bound, and what comes out before it is right.
func TestUnpackedIsBounded(t *testing.T) {
	zeros := zipped(strings.Repeat("\x00", 8<<20))
	for floor, ends := range map[uint64]bool{1 << 10: true, 1 << 20: false} {
		packed := &counted{r: bytes.NewReader(zeros)}
		z, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(&unpacked{z, newAllowance("decompressed bytes", floor, unpackedPerByte, packed)})
		if ends != (err != nil) || uint64(len(data)) > floor+unpackedPerByte*packed.n {
			t.Errorf("floor %d: %d bytes of %d packed ones, %v", floor, len(data), packed.n, err)
		}
	}
}

// TestStoredIsBounded: zeros take no disk and count for nothing; of the rest, what
// came first is stored.
func TestStoredIsBounded(t *testing.T) {
	block := func(c string) string { return strings.Repeat(c, spillBlock) }
	content := block("a") + strings.Repeat(block("\x00"), 50) + block("b") + block("c")
	stored := newAllowance("bytes to store", 2*spillBlock, 0, &counted{})
	f, broken := spill(strings.NewReader(content), 0, stored)
	if broken == nil || broken.Error() != "more than 131072 bytes to store" {
		t.Errorf("%v", broken)
	}
	defer func() {
		if err := removeSpill(f); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(f)
	if want := content[:52*spillBlock]; err != nil || string(got) != want {
		t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
	}
}

// TestCompressions: what gzip, zstd, xz, bzip2 and lz4 make of a file is seen through.
func TestCompressions(t *testing.T) {
	const content = "{}"
	pack := func(w io.WriteCloser, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var zstdFile, xzFile, lz4File bytes.Buffer
	pack(zstd.NewWriter(&zstdFile))
	pack(xz.NewWriter(&xzFile))
	pack(lz4.NewWriter(&lz4File), nil)
	for name, packed := range map[string]string{"gzip": string(zipped(content)), "zstd": zstdFile.String(), "xz": xzFile.String(), "lz4": lz4File.String(),
		"bzip2": "BZh91AY&SY\xa7&\xddN\x00\x00\x00\x00\x80\x00\n \x00!\x00\x82\xb1w$S\x85\t\nrm\xd4\xe0"} {
		z, release, err := decompressor([]byte(packed), strings.NewReader(packed))
		if err != nil || z == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(z)
		if string(got) != content || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := release(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
