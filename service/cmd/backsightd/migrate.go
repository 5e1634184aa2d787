package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/store"
	"github.com/backsight/backsight/service/transfer"
)

// migrate moves what one machine has to a database and a store that several share. The machine's service must not run.
func migrate(ctx context.Context, c *config, stderr io.Writer) (err error) {
	if c.shared.database == "" {
		return errors.New("migrate to where? --database and --store are missing")
	}
	secret, err := readSecret(c.secret)
	if err != nil {
		return err
	}
	t := transfer.Transfer{Log: logger(c, stderr)}
	if t.From, err = db.Open(ctx, c.path("backsight.db")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.From.Close()) }()
	if t.Bodies, err = store.OpenDisk(c.path("bodies"), store.Options{Key: secret}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Bodies.Close()) }()
	if t.To, err = db.Open(ctx, c.shared.database); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.To.Close()) }()
	kept, err := store.OpenS3(ctx, c.shared.store, secret)
	if err != nil {
		return err
	}
	t.Kept = kept
	if err := t.Run(ctx); err != nil {
		return err
	}
	folder := binaries.Folder{DB: t.From, Dir: child.Binaries{Dir: c.path("binaries")}, Remote: kept}
	return sent(ctx, &folder)
}

// sent sends all binaries of a folder.
func sent(ctx context.Context, f *binaries.Folder) error {
	return filepath.WalkDir(f.Dir.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there are none
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return f.Share(ctx, path)
	})
}
