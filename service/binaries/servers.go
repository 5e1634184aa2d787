package binaries

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Bounds of asking: build IDs of one round, of those that are remembered to have been asked for, and when they are asked for again.
const (
	askAtOnce  = 50
	maxAsked   = 100_000
	askedTime  = 24 * time.Hour
	serverTime = 10 * time.Minute
)

// Servers are debuginfod servers, which are asked for binaries that captures wait for. What they have is kept like an upload.
type Servers struct {
	URLs   []string
	Folder *Folder
	Log    *slog.Logger
	asked  *lru.Cache[string, time.Time]
}

// NewServers has servers whose addresses stand in a text with blanks between them, as in DEBUGINFOD_URLS (debuginfod(8)).
func NewServers(urls string, f *Folder, log *slog.Logger) (*Servers, error) {
	asked, err := lru.New[string, time.Time](maxAsked)
	return &Servers{URLs: strings.Fields(urls), Folder: f, Log: log, asked: asked}, err
}

// Ask asks for what has been missing since the last time, what most captures wait for first. A server that has a file not is asked
// again a day later.
func (s *Servers) Ask(ctx context.Context) error {
	ids, err := s.missing(ctx, time.Now())
	if err != nil {
		return err
	}
	for _, m := range ids {
		for _, kind := range []string{"debuginfo", "executable"} { // the last one has the captures done that wait
			for _, url := range s.URLs {
				err := s.get(ctx, url, m, kind)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err == nil {
					break
				}
				if !errors.Is(err, errNotThere) {
					s.Log.Warn("debuginfod", "server", url, "build", m.id, "error", err)
				}
			}
		}
	}
	return nil
}

// wanted is a binary that captures wait for.
type wanted struct{ id, name string }

func (s *Servers) missing(ctx context.Context, now time.Time) (list []wanted, err error) {
	const most = "SELECT build_id, min(name) FROM missing GROUP BY build_id ORDER BY count(*) DESC LIMIT $1"
	rows, err := s.Folder.DB.Read.QueryContext(ctx, most, maxAsked)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && len(list) < askAtOnce {
		var m wanted
		if err := rows.Scan(&m.id, &m.name); err != nil {
			return nil, err
		}
		if at, ok := s.asked.Get(m.id); ok && now.Sub(at) < askedTime {
			continue
		}
		if b, err := hex.DecodeString(m.id); err == nil && len(b) >= 4 { // all else is no build ID that servers know
			s.asked.Add(m.id, now)
			list = append(list, m)
		}
	}
	return list, rows.Err()
}

var errNotThere = errors.New("not there")

// get asks one server for one file.
func (s *Servers) get(ctx context.Context, url string, m wanted, kind string) error {
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/buildid/%s/%s", strings.TrimRight(url, "/"), m.id, kind), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		_, err = s.Folder.Add(ctx, m.name, m.id, resp.Body)
		return err
	case http.StatusNotFound:
		return errNotThere
	}
	return errors.New(resp.Status)
}
