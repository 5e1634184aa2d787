package web

import (
	"net/http"
	"strings"

	"github.com/backsight/backsight/service/api"
)

// searchBody is what the page of a search shows.
type searchBody struct {
	Text   string
	Fields []string
	*api.Found
}

func (s *site) search(w http.ResponseWriter, r *http.Request) error {
	body := searchBody{Text: strings.TrimSpace(r.FormValue("q")), Fields: api.Fields()}
	if body.Text != "" {
		p, _, err := s.project(r)
		if err != nil {
			return err
		}
		if body.Found, err = s.data.Search(r.Context(), p.ID, body.Text); err != nil {
			return err
		}
	}
	s.show(w, r, http.StatusOK, "search", "Search", body)
	return nil
}

func (s *site) missing(w http.ResponseWriter, r *http.Request) error {
	list, err := s.data.Missing(r.Context())
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, "missing", "Missing binaries", list)
	return nil
}

// queueBody is what the page of the queue shows.
type queueBody struct {
	api.Queue
	River bool
}

func (s *site) queue(w http.ResponseWriter, r *http.Request) error {
	q, err := s.data.Queue(r.Context())
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, "queue", "Queue", queueBody{q, s.Queue != nil})
	return nil
}
