package intake

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
)

// Bounds of an envelope: items, the header of one, an event.
const maxItems, maxHeader, maxEvent = 200, 64 << 10, 1 << 20

// envelope takes Sentry's envelopes: of an event with a capture attached the capture, with what the event says. All else is taken
// and dropped. Form: develop.sentry.dev/sdk/data-model/envelopes.
func (s *Server) envelope(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	body, done, err := s.clear(r.Context(), r)
	if err != nil {
		return err
	}
	defer done()
	e := envelope{s: s, a: described(r, key, "envelope")}
	defer func() {
		if e.capture != nil {
			e.capture.Close()
		}
	}()
	if err := e.read(r.Context(), bufio.NewReaderSize(packing.Bounded(body, s.Spools.unbound), maxHeader)); err != nil {
		return err
	}
	if e.capture == nil {
		s.Metrics.dropped("no capture")
		say(w, http.StatusOK, map[string]string{"id": e.id})
		return nil
	}
	if err := s.Keys.quota(r.Context(), key, e.a.Device); err != nil {
		return err
	}
	name, err := s.take(r.Context(), e.a, e.capture)
	if err != nil {
		return err
	}
	if e.id != "" {
		name = e.id
	}
	say(w, http.StatusOK, map[string]string{"id": name})
	return nil
}

type envelope struct {
	s       *Server
	a       *inbox.Arrival
	id      string
	capture *Spool
}

// item is the header of one.
type item struct {
	Type       string `json:"type"`
	Length     *int64 `json:"length"`
	File       string `json:"filename"`
	Attachment string `json:"attachment_type"`
	Content    string `json:"content_type"`
}

func (e *envelope) read(ctx context.Context, in *bufio.Reader) error {
	head, err := headerLine(in)
	if err == io.EOF {
		return wrong("an empty envelope")
	}
	if err != nil {
		return err
	}
	var of struct {
		ID string `json:"event_id"`
	}
	if err := json.Unmarshal(head, &of); err != nil {
		return wrong("the envelope has no header")
	}
	e.id, e.a.ID = line(of.ID), line(of.ID)
	for range maxItems {
		head, err := headerLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(head)) == 0 {
			continue
		}
		var i item
		if err := json.Unmarshal(head, &i); err != nil {
			return wrong("an item has no header")
		}
		if err := e.item(ctx, in, &i); err != nil {
			return err
		}
	}
	return wrong("too many items")
}

// headerLine is a line without its end. The error is io.EOF where nothing follows.
func headerLine(in *bufio.Reader) ([]byte, error) {
	b, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, wrong("a header is too long")
	case err == io.EOF && len(b) > 0, err == nil:
		return bytes.TrimRight(b, "\r\n"), nil
	}
	return nil, err
}

// item reads an item: as many bytes as it says, else to the end of the line.
func (e *envelope) item(ctx context.Context, in *bufio.Reader, i *item) error {
	var payload io.Reader = &untilLine{in: in}
	if i.Length != nil {
		if *i.Length < 0 {
			return wrong("an item of a length below zero")
		}
		payload = io.LimitReader(in, *i.Length)
	}
	var err error
	switch {
	case i.Type == "attachment" && e.capture == nil && i.isCapture():
		e.a.File = line(i.File)
		e.capture, err = e.s.Spools.Read(ctx, payload, "")
		if err == nil && i.Length != nil && e.capture.size != *i.Length {
			err = io.ErrUnexpectedEOF
		}
	case i.Type == "attachment" && (strings.HasPrefix(i.Content, "text/") || strings.HasSuffix(i.File, ".log") || strings.HasSuffix(i.File, ".txt")):
		e.a.Log, err = ending(payload)
	case i.Type == "event":
		var b []byte
		if b, err = io.ReadAll(packing.Bounded(payload, maxEvent)); err == nil {
			event(b, e.a)
		}
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, payload)
	return err
}

// isCapture tells attachments that are captures: Sentry's kinds of them, and files with the names that such have.
func (i *item) isCapture() bool {
	switch i.Attachment {
	case "event.minidump", "event.applecrashreport":
		return true
	}
	for _, end := range []string{".dmp", ".plcrash", ".ips", ".crash", ".core", ".pb", ".bsr"} {
		if strings.HasSuffix(strings.ToLower(i.File), end) {
			return true
		}
	}
	return false
}

// untilLine reads to the end of a line, which it takes.
type untilLine struct {
	in  *bufio.Reader
	end bool
}

func (u *untilLine) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if u.end {
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		c, err := u.in.ReadByte()
		if err != nil {
			u.end = err == io.EOF
			if u.end {
				continue
			}
			return n, err
		}
		if u.end = c == '\n'; !u.end {
			p[n] = c
			n++
		}
	}
	return n, nil
}

// event takes what a Sentry event says of the crash (develop.sentry.dev/sdk/data-model/event-payloads).
func event(b []byte, a *inbox.Arrival) {
	var e struct {
		Release     string `json:"release"`
		Environment string `json:"environment"`
		Platform    string `json:"platform"`
		Dist        string `json:"dist"`
		User        struct {
			ID string `json:"id"`
		} `json:"user"`
		Tags     json.RawMessage `json:"tags"`
		Contexts struct {
			Device struct {
				Model string `json:"model"`
			} `json:"device"`
		} `json:"contexts"`
	}
	if json.Unmarshal(b, &e) != nil {
		return // of the capture it says nothing
	}
	product, version, both := strings.Cut(e.Release, "@") // package@version
	if !both {
		product, version = "", e.Release
	}
	for to, s := range map[*string]string{&a.Product: product, &a.Version: version, &a.Device: e.User.ID} {
		if *to == "" {
			*to = line(s)
		}
	}
	for name, s := range map[string]string{"environment": e.Environment, "platform": e.Platform, "dist": e.Dist, "model": e.Contexts.Device.Model} {
		if s != "" {
			annotate(a, name, s)
		}
	}
	var tags map[string]string
	if json.Unmarshal(e.Tags, &tags) == nil {
		for name, s := range tags {
			annotate(a, name, s)
		}
	}
}
