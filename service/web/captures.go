package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/backsight/backsight/internal/comparing"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/api"
)

// captureBody is what the page of a capture shows. Named is its thread where there is no page of the whole report.
type captureBody struct {
	*api.Report
	Named *jsonreport.Thread
	Parts *jsonreport.Report
}

func (s *site) capture(w http.ResponseWriter, r *http.Request) error {
	c, err := s.data.Report(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	body := captureBody{Report: c}
	if c.Told && !c.Paged {
		if body.Parts, err = s.data.Parsed(r.Context(), c.Name); err != nil {
			return err
		}
		body.Named = shown(body.Parts)
	}
	if c.Status == "queued" {
		w.Header().Set("Refresh", "2")
	}
	title := c.Title
	if title == "" {
		title = "Capture " + c.Name
	}
	s.show(w, r, http.StatusOK, "capture", title, body)
	return nil
}

// shown is the thread that stands for a report: the one that names it, else the one that crashed, else the first; nil for none.
func shown(r *jsonreport.Report) *jsonreport.Thread {
	if t := r.Named(); t != nil {
		return t
	}
	if i := r.Crash.Thread; i != nil && *i >= 0 && *i < len(r.Threads) {
		return &r.Threads[*i]
	}
	if len(r.Threads) > 0 {
		return &r.Threads[0]
	}
	return nil
}

// page is the report's own page. It was made of what a device sent: it runs in a frame without this site's origin, and may load
// and send nothing.
func (s *site) page(w http.ResponseWriter, r *http.Request) error {
	b, err := s.data.Page(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, err = w.Write(b)
	return ignored(r.Context(), err)
}

func (s *site) report(w http.ResponseWriter, r *http.Request) error {
	b, err := s.data.JSON(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(b)
	return ignored(r.Context(), err)
}

// body is the capture as it was sent.
func (s *site) body(w http.ResponseWriter, r *http.Request) error {
	c, err := s.data.Report(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	if !c.Kept || s.Bodies == nil {
		return fmt.Errorf("%w: the body is not kept any more", api.ErrNone)
	}
	b, err := s.Bodies.Body(r.Context(), c.ID)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+c.Name+`"`)
	_, err = w.Write(b)
	return ignored(r.Context(), err)
}

// ignored is nil where a browser has gone.
func ignored(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// maxUpload bounds a capture that the page takes, in bytes; maxField a field beside it.
const maxUpload, maxField = 100 << 20, 256

// upload takes a capture from a form; the fields beside it stand before it.
func (s *site) upload(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	parts, err := r.MultipartReader()
	if err != nil || s.Receive == nil {
		return fmt.Errorf("%w: no form with a capture", api.ErrWrong)
	}
	file, fields, err := fileOf(parts)
	if err != nil {
		return err
	}
	r.Form = url.Values{"project": {fields["project"]}}
	p, _, err := s.project(r)
	if err != nil {
		return err
	}
	name, err := s.Receive(r.Context(), p.ID, file.FileName(), file, fields["device"], fields["version"])
	if errors.As(err, new(*http.MaxBytesError)) {
		return fmt.Errorf("%w: a capture has at most %d MB", api.ErrWrong, maxUpload>>20)
	} else if err != nil {
		return err
	}
	return back(w, r, "/captures/"+name)
}

// fileOf is the capture in a form, and the fields before it.
func fileOf(parts *multipart.Reader) (*multipart.Part, map[string]string, error) {
	fields := map[string]string{}
	const most = 8
	for range most {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		if part.FormName() == "capture" {
			return part, fields, nil
		}
		b, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil {
			break
		}
		fields[part.FormName()] = string(b)
	}
	return nil, nil, fmt.Errorf("%w: no capture in the form", api.ErrWrong)
}

// comparison is two captures side by side.
type comparison struct {
	A, B    string
	Article template.HTML
}

func (s *site) compare(w http.ResponseWriter, r *http.Request) error {
	names := r.URL.Query()["c"]
	if len(names) != 2 {
		return fmt.Errorf("%w: two captures are compared, %d are chosen", api.ErrWrong, len(names))
	}
	var reports [2]*jsonreport.Report
	for i, name := range names {
		var err error
		if reports[i], err = s.data.Parsed(r.Context(), name); err != nil {
			return err
		}
		reports[i].Own.Capture = tail(name)
	}
	article := display.AppendComparisonArticle(nil, comparing.Compare(reports[0], reports[1])) // escapes all that is told
	s.show(w, r, http.StatusOK, "compare", "Two captures", comparison{names[0], names[1], template.HTML(article)})
	return nil
}
