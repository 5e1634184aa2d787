package intake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/backsight/backsight/service/inbox"
)

// settled is how long a file in a watched folder has not changed before it is taken.
const settled = 2 * time.Second

// Watch takes what is put into a folder, until ctx ends: binaries, and captures of a project. What was taken is removed; what cannot be
// is in a folder "refused" then.
func (s *Server) Watch(ctx context.Context, dir string, key inbox.Key, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := s.look(ctx, dir, key); err != nil {
			s.Log.Error("watched folder", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Server) look(ctx context.Context, dir string, key inbox.Key) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() || time.Since(st.ModTime()) < settled {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := s.file(ctx, path, key); err != nil {
			if status(err).status >= 500 {
				return err // it is tried again
			}
			refused := filepath.Join(dir, "refused")
			err = errors.Join(err, os.MkdirAll(refused, 0o700), os.Rename(path, filepath.Join(refused, e.Name())))
			s.Log.Error("watched folder", "file", e.Name(), "error", err)
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// file takes a file: a binary, or else a capture.
func (s *Server) file(ctx context.Context, path string, key inbox.Key) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := s.Binaries.Add(ctx, filepath.Base(path), "", f); err == nil {
		return nil
	}
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	sp, err := s.Spools.Read(ctx, f, "")
	if err != nil {
		return err
	}
	defer sp.Close()
	_, err = s.take(ctx, &inbox.Arrival{Key: key, Kind: "folder", File: line(filepath.Base(path))}, sp)
	return err
}
