package device

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/backsight/backsight/image"
)

// TestBundle: the tables are found by build ID or by the code, each once, in order of the key, at multiples of 16.
func TestBundle(t *testing.T) {
	code := []byte("code of a program without a build ID")
	images := []*image.Image{
		{Header: image.Header{BuildID: []byte{9, 8, 7, 6, 5, 4, 3, 2, 1}}},
		{Header: image.Header{BuildID: []byte{1, 2, 3}}},
		{Header: image.Header{Segments: image.Segments{{Addr: 0, Data: []byte("data")}, {Addr: 0x1000, Data: code, Exec: true}}}},
		{Header: image.Header{BuildID: []byte{1, 2, 3}}},
	}
	var b Bundle
	for i, img := range images {
		if err := b.Add(img, bytes.Repeat([]byte{byte('a' + i)}, 5+i)); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if n, err := b.WriteTo(&file); err != nil || n != int64(file.Len()) || b.Len() != 3 {
		t.Fatal(n, err, b.Len())
	}
	all := file.Bytes()
	if string(all[:4]) != "bsT\x01" || binary.LittleEndian.Uint32(all[4:]) != 3 || int(binary.LittleEndian.Uint32(all[8:])) != len(all) {
		t.Errorf("head %x", all[:bundleHead])
	}
	hashed := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(code)), uint32(len(code)))
	found := map[string]string{}
	for e := all[bundleHead:][:3*bundleEntry]; len(e) > 0; e = e[bundleEntry:] {
		at, size := binary.LittleEndian.Uint32(e[8:]), binary.LittleEndian.Uint32(e[12:])
		if at%bundleAlign != 0 || len(e) > bundleEntry && bytes.Compare(e[:8], e[bundleEntry:][:8]) >= 0 {
			t.Errorf("entry %x", e[:bundleEntry])
		}
		found[string(e[:8])] = string(all[at:][:size])
	}
	for key, want := range map[string]string{"\x09\x08\x07\x06\x05\x04\x03\x02": "aaaaa", "\x01\x02\x03\x00\x00\x00\x00\x00": "bbbbbb", string(hashed): "ccccccc"} {
		if found[key] != want {
			t.Errorf("%x: %q, want %q", key, found[key], want)
		}
	}
}
