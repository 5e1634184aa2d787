package web

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"

	"github.com/backsight/backsight/service/api"
)

// binary is an executable or a debug file by its build ID, as debuginfod servers have them (debuginfod(8), WEBAPI).
func (s *site) binary(w http.ResponseWriter, r *http.Request) error {
	id, kind := r.PathValue("id"), r.PathValue("kind")
	if b, err := hex.DecodeString(id); err != nil || len(b) == 0 || s.Binary == nil || !slices.Contains([]string{"executable", "debuginfo"}, kind) {
		return fmt.Errorf("%w: /buildid/ID/executable and /buildid/ID/debuginfo are served", api.ErrNone)
	}
	path, ok := s.Binary(id, kind)
	if !ok {
		return api.ErrNone
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeFile(w, r, path)
	return nil
}
