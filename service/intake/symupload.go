package intake

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
	"github.com/google/uuid"
)

// sym-upload-v2, as Breakpad's symupload and sym_upload of Crashpad's users speak it (common/linux/symbol_collector_client.cc):
//
//	GET  /v1/symbols/NAME/ID:checkStatus   {"status": "MISSING"}
//	POST /v1/uploads:create                {"uploadUrl": "…", "uploadKey": "…"}
//	PUT  uploadUrl                         the file
//	POST /v1/uploads/KEY:complete          {"result": "OK"}

// Bounds of uploads that were created and not completed.
const (
	maxUploads = 1000
	uploadTime = time.Hour
)

// uploads are those that were created: what became of their files.
type uploads struct {
	mu   sync.Mutex
	open map[string]*upload
}

type upload struct {
	project int64
	at      time.Time
	done    bool
	err     error
}

func (u *uploads) begin(project int64, now time.Time) (string, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open == nil {
		u.open = map[string]*upload{}
	}
	for k, old := range u.open {
		if now.Sub(old.at) > uploadTime {
			delete(u.open, k)
		}
	}
	if len(u.open) >= maxUploads {
		return "", &answer{http.StatusServiceUnavailable, "too many uploads are not complete"}
	}
	u.open[id.String()] = &upload{project: project, at: now}
	return id.String(), nil
}

// of is an upload of a project, nil where there is none.
func (u *uploads) of(id string, project int64) *upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	if found := u.open[id]; found != nil && found.project == project {
		return found
	}
	return nil
}

// end says what became of an upload; it is forgotten where that was asked for.
func (u *uploads) end(id string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if of := u.open[id]; of != nil {
		of.done, of.err = true, err
	}
}

func (u *uploads) forget(id string) (done bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.open[id]
	delete(u.open, id)
	return of != nil && of.done, of.err
}

func (s *Server) checkStatus(w http.ResponseWriter, r *http.Request, _ inbox.Key) error {
	id, ok := strings.CutSuffix(r.PathValue("id"), ":checkStatus")
	if !ok {
		return &answer{http.StatusNotFound, "not there"}
	}
	status := "MISSING"
	if s.Binaries.Has(r.PathValue("file"), id) {
		status = "FOUND"
	}
	say(w, http.StatusOK, map[string]string{"status": status})
	return nil
}

func (s *Server) createUpload(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	id, err := s.uploads.begin(key.Project, time.Now())
	if err != nil {
		return err
	}
	to := url.URL{Scheme: scheme(r), Host: r.Host, Path: "/v1/uploads/" + id, RawQuery: url.Values{"key": {key.Key}}.Encode()}
	say(w, http.StatusOK, map[string]string{"uploadUrl": to.String(), "uploadKey": id})
	return nil
}

// scheme is by which a request came to this service, or to who stands before it.
func scheme(r *http.Request) string {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https"
	}
	return "http"
}

func (s *Server) putUpload(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	id := r.PathValue("upload")
	if s.uploads.of(id, key.Project) == nil {
		return &answer{http.StatusNotFound, "no such upload"}
	}
	_, err := s.Binaries.Add(r.Context(), "", "", r.Body)
	s.uploads.end(id, err)
	if err == nil {
		w.WriteHeader(http.StatusOK)
	}
	return err
}

// completion is what a sender says of an upload that is complete.
type completion struct {
	Symbol struct {
		File string `json:"debug_file"`
		ID   string `json:"debug_id"`
	} `json:"symbol_id"`
	Type string `json:"symbol_upload_type"`
}

func (s *Server) completeUpload(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	id, ok := strings.CutSuffix(r.PathValue("upload"), ":complete")
	if !ok || s.uploads.of(id, key.Project) == nil {
		return &answer{http.StatusNotFound, "no such upload"}
	}
	var c completion
	b, err := io.ReadAll(packing.Bounded(r.Body, maxField))
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return wrong("no symbol_id")
	}
	done, err := s.uploads.forget(id)
	if err == nil && !done {
		err = errors.New("nothing was sent")
	}
	if err != nil {
		return wrong(line(err.Error()))
	}
	say(w, http.StatusOK, map[string]string{"result": "OK"})
	return nil
}
