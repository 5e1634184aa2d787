package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/store"
	"github.com/google/uuid"
)

// openShared opens the database and the store: a file and a folder below the data, or what several nodes share.
func (s *service) openShared(ctx context.Context) (err error) {
	c := s.config
	secret, err := readSecret(c.secret)
	if err != nil {
		return err
	}
	if c.shared.database == "" {
		if s.db, err = db.Open(ctx, c.path("backsight.db")); err != nil {
			return err
		}
		s.closers = append(s.closers, s.db.Close)
		if s.store, err = store.OpenDisk(c.path("bodies"), store.Options{Key: secret, Reserve: c.limits.reserve}); err != nil {
			return err
		}
		s.closers = append(s.closers, s.store.Close)
		return nil
	}
	if err := s.own(ctx); err != nil {
		return err
	}
	if s.db, err = db.Open(ctx, c.shared.database); err != nil {
		return err
	}
	s.closers = append(s.closers, s.db.Close)
	s.store, err = store.OpenS3(ctx, c.shared.store, secret)
	return err
}

// own takes the folder of a node, which one process has at a time, and the name that is written there: the node goes by it when it
// starts again, and knows the jobs that it had.
func (s *service) own(ctx context.Context) error {
	lock, err := db.Own(ctx, s.config.path("node.lock"))
	if err != nil {
		return err
	}
	s.closers = append(s.closers, lock.Close)
	path := s.config.path("node")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		host, _ := os.Hostname() // it is only to be read by people
		b = []byte(host[:min(len(host), 40)] + "-" + uuid.NewString())
		err = os.WriteFile(path, b, 0o600)
	}
	s.node = strings.TrimSpace(string(b))
	return err
}
