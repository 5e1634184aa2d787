package intake

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
	"github.com/google/uuid"
)

// Bounds of a form. Sentry's and Crashpad's have some dozens of fields.
const maxParts, maxField = 500, 20 << 10

// crashpad takes a form of Breakpad or Crashpad. Its senders do not know 429: old ones give a refused report up, others try for
// ever. What is above a quota is taken, and dropped.
func (s *Server) crashpad(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	name, err := s.form(r, key)
	if errors.Is(err, errQuota) {
		return s.drop(w, r)
	}
	if err == nil {
		sayText(w, hyphened(name))
	}
	return err
}

// drop reads a body that is not kept, and answers as if it were.
func (s *Server) drop(w http.ResponseWriter, r *http.Request) error {
	s.Metrics.dropped("quota")
	if _, err := io.Copy(io.Discard, packing.Bounded(r.Body, s.Spools.unbound)); err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err == nil {
		sayText(w, id.String())
	}
	return err
}

// minidump takes Sentry's minidumps: a form, or the dump itself.
func (s *Server) minidump(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return s.crashpad(w, r, key)
	}
	a := described(r, key, "minidump")
	err := s.Keys.quota(r.Context(), key, a.Device)
	if errors.Is(err, errQuota) {
		return s.drop(w, r)
	}
	if err != nil {
		return err
	}
	sp, err := s.Spools.Read(r.Context(), r.Body, r.Header.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	defer sp.Close()
	name, err := s.take(r.Context(), a, sp)
	if err == nil {
		sayText(w, hyphened(name))
	}
	return err
}

// clear is a request's body without the packing of the whole. What is packed has arrived when clear returns: nobody who sends slowly
// holds what unpacking takes.
func (s *Server) clear(ctx context.Context, r *http.Request) (io.Reader, func(), error) {
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "" || encoding == "identity" {
		return r.Body, func() {}, nil
	}
	sp, err := s.Spools.Read(ctx, r.Body, encoding)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Spools.unpack.Acquire(ctx, 1); err != nil {
		sp.Close()
		return nil, nil, err
	}
	body, err := sp.Unpacked()
	done := func() {
		if body != nil {
			_ = body.Close() // of memory
		}
		s.Spools.unpack.Release(1)
		sp.Close()
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return body, done, nil
}

// form takes a form with a dump.
func (s *Server) form(r *http.Request, key inbox.Key) (string, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return "", wrong("no multipart/form-data")
	}
	body, done, err := s.clear(r.Context(), r)
	if err != nil {
		return "", err
	}
	defer done()
	f := form{s: s, a: described(r, key, "minidump")}
	defer f.close()
	for name, values := range r.URL.Query() {
		if name != "key" && name != "api_key" && len(values) > 0 {
			annotate(f.a, name, values[0])
		}
	}
	if err := f.read(r.Context(), multipart.NewReader(packing.Bounded(body, s.Spools.unbound), params["boundary"])); err != nil {
		return "", err
	}
	if f.dump == nil {
		return "", wrong("the form has no upload_file_minidump")
	}
	if err := s.Keys.quota(r.Context(), key, f.a.Device); err != nil {
		return "", err
	}
	return s.take(r.Context(), f.a, f.dump)
}

// form gathers the parts of a form.
type form struct {
	s    *Server
	a    *inbox.Arrival
	dump *Spool
	sure bool // dump has the name of a dump
}

func (f *form) close() {
	if f.dump != nil {
		f.dump.Close()
	}
}

func (f *form) read(ctx context.Context, in *multipart.Reader) error {
	for range maxParts {
		p, err := in.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return partError(err)
		}
		if err := f.part(ctx, p); err != nil {
			return partError(err)
		}
	}
	return wrong("too many parts")
}

// partError tells a form that is cut short from what else went wrong.
func partError(err error) error {
	if status(err).status != http.StatusInternalServerError {
		return err
	}
	return wrong("a part is no part of a form: " + line(err.Error()))
}

func (f *form) part(ctx context.Context, p *multipart.Part) error {
	name, file := p.FormName(), line(p.FileName())
	isDump := name == "upload_file_minidump"
	switch {
	case isDump || file != "" && f.dump == nil && !isText(p):
		if f.sure {
			return nil
		}
		sp, err := f.s.Spools.Read(ctx, p, p.Header.Get("Content-Encoding"))
		if err != nil {
			return err
		}
		f.close()
		f.dump, f.sure, f.a.File = sp, isDump, file
	case file != "":
		if isText(p) {
			return f.log(p)
		}
	default:
		value, err := io.ReadAll(packing.Bounded(p, maxField))
		if err != nil {
			return err
		}
		f.field(name, string(value))
	}
	return nil
}

func isText(p *multipart.Part) bool {
	return strings.HasPrefix(p.Header.Get("Content-Type"), "text/") || strings.HasSuffix(p.FileName(), ".log") || strings.HasSuffix(p.FileName(), ".txt")
}

// log keeps the end of a log.
func (f *form) log(r io.Reader) error {
	end, err := ending(r)
	f.a.Log += end
	f.a.Log = f.a.Log[max(0, len(f.a.Log)-maxLog):]
	return err
}

// ending is the end of a text.
func ending(r io.Reader) (string, error) {
	var kept []byte
	b := make([]byte, 16<<10)
	for {
		n, err := r.Read(b)
		if kept = append(kept, b[:n]...); len(kept) > 2*maxLog {
			kept = append(kept[:0], kept[len(kept)-maxLog:]...)
		}
		if err == io.EOF {
			return strings.ToValidUTF8(string(kept[max(0, len(kept)-maxLog):]), "?"), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// field takes what a form says of the crash.
func (f *form) field(name, value string) {
	set := func(to *string) {
		if *to == "" {
			*to = line(value)
		}
	}
	switch name {
	case "sentry":
		event([]byte(value), f.a)
	case "guid", "device":
		set(&f.a.Device)
	case "prod", "product", "_productName":
		set(&f.a.Product)
	case "ver", "version", "_version", "sentry[release]":
		set(&f.a.Version)
	}
	annotate(f.a, name, value)
}
