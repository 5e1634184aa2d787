package intake

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"
)

// chunked cuts a message into Memfault's chunks of a size.
func chunked(message []byte, size int) (chunks [][]byte) {
	crc := binary.LittleEndian.AppendUint16(nil, crc16(message))
	if len(message)+3 <= size {
		return [][]byte{append(append([]byte{chunkCRCBehind}, message...), crc...)}
	}
	at := 0
	for at < len(message) {
		var c []byte
		if at == 0 {
			c = binary.AppendUvarint([]byte{chunkFollows | chunkCRCBehind}, uint64(len(message)))
		} else {
			c = binary.AppendUvarint([]byte{chunkFollows | chunkGoesOn}, uint64(at))
		}
		n := min(size-len(c), len(message)-at)
		c = append(c, message[at:at+n]...)
		if at += n; at == len(message) && len(c)+2 <= size {
			c[0] &^= chunkFollows
			chunks = append(chunks, append(c, crc...))
			return chunks
		}
		chunks = append(chunks, c)
	}
	last := binary.AppendUvarint([]byte{chunkGoesOn}, uint64(at))
	return append(chunks, append(last, crc...))
}

// TestChunks: a message is whole by its last chunk, whatever the size of chunks, and where one is sent again.
func TestChunks(t *testing.T) {
	message := append([]byte{messageCDR}, strings.Repeat("metadata bsR1 record ", 20)...)
	for _, size := range []int{9, 30, 100, 1000} {
		var m messages
		var got []byte
		for i, c := range chunked(message, size) {
			for range 1 + i%2 {
				whole, err := m.add(messageKey{1, "d"}, c, time.Now())
				if err != nil {
					if i%2 == 1 && got != nil {
						continue // the last one again: nothing is open any more
					}
					t.Fatal(size, i, err)
				}
				if whole != nil {
					got = whole
				}
			}
		}
		if !bytes.Equal(got, message) {
			t.Errorf("chunks of %d: %d bytes, want %d", size, len(got), len(message))
		}
		if capture := payload(got); !bytes.HasPrefix(capture, []byte("bsR1")) {
			t.Errorf("no capture in it: %.20q", capture)
		}
	}
}

func TestChunksWrong(t *testing.T) {
	good := chunked([]byte("\x04message"), 100)[0]
	var m messages
	for what, c := range map[string][]byte{
		"empty": {}, "short": {8, 1}, "CRC": append(bytes.Clone(good[:len(good)-1]), 0), "no beginning": {chunkGoesOn, 5, 1, 2, 3},
		"too long": binary.AppendUvarint([]byte{chunkFollows}, maxMessage+1),
	} {
		if got, err := m.add(messageKey{1, "d"}, c, time.Now()); err == nil {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestUnrun follows memfault_rle.c's example: 1, 2, 2, 3 is one sequence of four, and five equal bytes are a run.
func TestUnrun(t *testing.T) {
	packed := append(binary.AppendVarint(nil, -4), 1, 2, 2, 3)
	packed = append(binary.AppendVarint(packed, 5), 9)
	if got, err := unrun(packed); err != nil || !bytes.Equal(got, []byte{1, 2, 2, 3, 9, 9, 9, 9, 9}) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range [][]byte{{0}, binary.AppendVarint(nil, -2), binary.AppendVarint(nil, 3), append(binary.AppendVarint(nil, 1<<40), 1)} {
		if _, err := unrun(bad); err == nil {
			t.Errorf("%x", bad)
		}
	}
}

func TestZephyrText(t *testing.T) {
	text := string(payload(append([]byte{messageCoredump}, "ZE\x02\x00dump"...)))
	if text != "#CD:BEGIN#\n#CD:5a45020064756d70\n#CD:END#\n" {
		t.Errorf("%q", text)
	}
}

// FuzzChunks: what comes makes no more than a message's bound.
func FuzzChunks(f *testing.F) {
	for _, c := range chunked(append([]byte{messageCoredump | messageRLE}, strings.Repeat("x", 200)...), 50) {
		f.Add(c, c)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var m messages
		for _, c := range [][]byte{a, b, a, b} {
			if whole, err := m.add(messageKey{}, c, time.Now()); err == nil && len(whole) > 0 {
				if p := payload(whole); len(p) > 4*maxMessage {
					t.Errorf("%d bytes", len(p))
				}
			}
		}
	})
}
