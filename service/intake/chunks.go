package intake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
)

// Bounds of messages in chunks: one request, one message, how many messages of devices are not whole, and for how long.
const (
	maxChunks   = 2 << 20
	maxMessage  = 1 << 20
	maxUnwhole  = 1000
	unwholeTime = 15 * time.Minute
)

// chunks takes Memfault's chunks, one or several as multipart/mixed. Of a message that is whole the capture is kept: a bs_store record
// or a dump in a coredump or a custom data recording. What is no capture is taken and dropped.
func (s *Server) chunks(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	device := line(r.PathValue("serial"))
	if err := s.Keys.quota(r.Context(), key, device); err != nil {
		return err
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	body := packing.Bounded(r.Body, maxChunks)
	if kind != "multipart/mixed" {
		b, err := io.ReadAll(body)
		if err == nil {
			err = s.chunk(r, key, device, b)
		}
		return accepted(w, err)
	}
	in := multipart.NewReader(body, params["boundary"])
	for range maxParts {
		p, err := in.NextRawPart()
		if err == io.EOF {
			return accepted(w, nil)
		}
		if err != nil {
			return partError(err)
		}
		b, err := io.ReadAll(p)
		if err == nil {
			err = s.chunk(r, key, device, b)
		}
		if err != nil {
			return partError(err)
		}
	}
	return wrong("too many chunks")
}

func accepted(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusAccepted)
	}
	return err
}

// chunk takes one chunk.
func (s *Server) chunk(r *http.Request, key inbox.Key, device string, b []byte) error {
	message, err := s.messages.add(messageKey{key.Project, device}, b, time.Now())
	if err != nil || message == nil {
		return err
	}
	capture := payload(message)
	if capture == nil {
		s.Metrics.dropped("no capture")
		return nil
	}
	sp, err := s.Spools.Read(r.Context(), bytes.NewReader(capture), "")
	if err != nil {
		return err
	}
	defer sp.Close()
	a := described(r, key, "chunks")
	a.Device = device
	_, err = s.take(r.Context(), a, sp)
	return err
}

// A chunk's header is a byte: what follows (more of the message), whether the message began before, where its CRC stands
// (memfault_chunk_transport.c of memfault-firmware-sdk).
const chunkFollows, chunkGoesOn, chunkCRCBehind = 0x40, 0x80, 0x08

type messageKey struct {
	project int64
	device  string
}

// messages are those of devices that are not whole.
type messages struct {
	mu   sync.Mutex
	open map[messageKey]*message
}

type message struct {
	b         []byte
	total     int
	crcBehind bool
	at        time.Time
}

var errChunk = wrong("no chunk of a message")

// add takes a chunk, and returns the message that is whole with it, else nil.
func (m *messages) add(key messageKey, b []byte, now time.Time) ([]byte, error) {
	if len(b) < 3 {
		return nil, errChunk
	}
	head, rest := b[0], b[1:]
	if head&chunkGoesOn == 0 && head&chunkFollows == 0 {
		return checked(rest, head&chunkCRCBehind != 0)
	}
	n, used := binary.Uvarint(rest)
	if used <= 0 || n > maxMessage {
		return nil, errChunk
	}
	rest = rest[used:]
	m.mu.Lock()
	defer m.mu.Unlock()
	if head&chunkGoesOn == 0 {
		return nil, m.begin(key, &message{b: bytes.Clone(rest), total: int(n), crcBehind: head&chunkCRCBehind != 0, at: now}, now)
	}
	of := m.open[key]
	if of == nil || int(n) > len(of.b) {
		delete(m.open, key)
		return nil, wrong("a chunk before this one is missing")
	}
	of.b, of.at = append(of.b[:n], rest...), now // a chunk that is sent again is where it was
	if head&chunkFollows != 0 {
		if len(of.b) > of.total+2 {
			delete(m.open, key)
			return nil, errChunk
		}
		return nil, nil
	}
	delete(m.open, key)
	whole := of.total + 2 // with the CRC; behind it a chunk may be filled up
	if len(of.b) < whole {
		if of.crcBehind || len(of.b) < of.total {
			return nil, errChunk
		}
	}
	return checked(of.b[:min(len(of.b), whole)], of.crcBehind)
}

// begin keeps the beginning of a message, and forgets those that nobody goes on with.
func (m *messages) begin(key messageKey, of *message, now time.Time) error {
	if m.open == nil {
		m.open = map[messageKey]*message{}
	}
	if len(m.open) >= maxUnwhole {
		for k, old := range m.open {
			if now.Sub(old.at) > unwholeTime {
				delete(m.open, k)
			}
		}
		if len(m.open) >= maxUnwhole {
			return &answer{http.StatusServiceUnavailable, "too many messages are not whole"}
		}
	}
	m.open[key] = of
	return nil
}

// checked is a message whose CRC-16 (CCITT, from 0) is right, without it.
func checked(b []byte, behind bool) ([]byte, error) {
	if len(b) < 3 {
		return nil, errChunk
	}
	sum, text := binary.LittleEndian.Uint16(b), b[2:]
	if behind {
		sum, text = binary.LittleEndian.Uint16(b[len(b)-2:]), b[:len(b)-2]
	}
	if crc16(text) != sum {
		return nil, wrong("the message's CRC is wrong")
	}
	return text, nil
}

func crc16(b []byte) (crc uint16) {
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// Kinds of messages, and what the header's byte says beside (memfault_data_packetizer.c).
const messageCoredump, messageCDR, messageKind, messageHasKey, messageRLE = 1, 4, 0x3f, 0x40, 0x80

// payload is the capture in a message, nil where there is none: what begins as one of those that microcontrollers have.
func payload(b []byte) []byte {
	head := b[0]
	b = b[1:]
	if head&messageHasKey != 0 {
		const projectKey = 33 // with its NUL
		if len(b) < projectKey {
			return nil
		}
		b = b[projectKey:]
	}
	if kind := head & messageKind; kind != messageCoredump && kind != messageCDR {
		return nil
	}
	if head&messageRLE != 0 {
		var err error
		if b, err = unrun(b); err != nil {
			return nil
		}
	}
	for _, magic := range []string{"bsR1", "1Rsb", "\x7fELF"} {
		if i := bytes.Index(b, []byte(magic)); i >= 0 {
			return b[i:]
		}
	}
	if bytes.HasPrefix(b, []byte("ZE")) {
		return zephyrText(b)
	}
	return nil
}

// zephyrText is a core dump of Zephyr as its logging backend prints one (subsys/debug/coredump/coredump_backend_logging.c).
func zephyrText(b []byte) []byte {
	text := []byte("#CD:BEGIN#\n")
	for row := range slices.Chunk(b, 32) {
		text = fmt.Appendf(text, "#CD:%x\n", row)
	}
	return append(text, "#CD:END#\n"...)
}

var errRun = errors.New("no run")

// unrun undoes Memfault's run-length encoding (memfault_rle.c): a signed count (zigzag varint), above zero of equal bytes, of which one
// follows, below zero of bytes that follow.
func unrun(b []byte) (out []byte, err error) {
	for len(b) > 0 {
		n, used := binary.Varint(b)
		if used <= 0 {
			return nil, errRun
		}
		b = b[used:]
		switch {
		case n > 0 && len(b) > 0 && n <= maxMessage-int64(len(out)):
			out = append(out, bytes.Repeat(b[:1], int(n))...)
			b = b[1:]
		case n < 0 && n >= -int64(len(b)) && -n <= maxMessage-int64(len(out)):
			out = append(out, b[:-n]...)
			b = b[-n:]
		default:
			return nil, errRun
		}
	}
	return out, nil
}
