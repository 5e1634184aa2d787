package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
)

// Known has a running service know a signature ("stable:" and key) of a group of which it has enough bodies, beside its back.
func Known(ctx context.Context, s *Service, key string) error {
	return KnownIn(ctx, "sqlite", "file:"+filepath.Join(s.data, "backsight.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)", key)
}

// KnownIn does that in the database that a driver of database/sql opens.
func KnownIn(ctx context.Context, driver, source, key string) error {
	d, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, q := range []string{
		"INSERT INTO groups (id, project_id, signature, title, kept, count, first_seen, last_seen) VALUES (1000000, 1, 'stable:" + key + "', 'known', 50, 1000000000, 0, 0)",
		"INSERT INTO group_signatures (project_id, signature, group_id) VALUES (1, 'stable:" + key + "', 1000000)",
	} {
		if _, err := d.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Results is how many captures a service has worked on.
func Results(s *Service) (n float64, err error) {
	resp, err := http.Get(s.Base + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if _, after, ok := strings.Cut(string(b), `backsight_backtraces_total{outcome="done"} `); ok {
		_, err = fmt.Sscan(after, &n)
	}
	return n, err
}
