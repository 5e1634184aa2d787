//go:build !small

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/backsight/backsight/internal/jsonreport"
)

// rereader goes through files that are captures, or reports that bt -f json or -f jsonl has written. A capture is made a
// report as bt makes one.
type rereader struct {
	opt      *btOptions // for captures
	progress *progress
}

// each calls visit for the reports of the files, in order. Files that cannot be read are told of, and passed over; ok tells
// whether all could be.
func (r *rereader) each(ctx context.Context, files []string, visit func(file string, rep *jsonreport.Report) error) (ok bool, err error) {
	ok = true
	for len(files) > 0 && ctx.Err() == nil {
		captures := 0
		for captures < len(files) && !holdsReports(files[captures]) {
			captures++
		}
		if captures > 0 {
			unread, err := r.captures(ctx, files[:captures], visit)
			if err != nil {
				return false, err
			}
			ok, files = ok && !unread, files[captures:]
			continue
		}
		if err := r.reports(ctx, files[0], visit); err != nil {
			r.progress.warn(files[0] + ": " + err.Error())
			ok = false
		}
		files = files[1:]
	}
	return ok, ctx.Err()
}

// holdsReports tells whether a file begins like reports.
func holdsReports(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := bufio.NewReaderSize(f, 512).Peek(512)
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && jsonreport.Is(head)
}

func (r *rereader) reports(ctx context.Context, path string, visit func(string, *jsonreport.Report) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return jsonreport.Each(ctx, f, func(rep *jsonreport.Report) error { return visit(cmp.Or(rep.Own.Capture, path), rep) })
}

// captures has bt write reports into a pipe, and reads them there. unread: a capture could not be read.
func (r *rereader) captures(ctx context.Context, files []string, visit func(string, *jsonreport.Report) error) (unread bool, err error) {
	from, to := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.opt.format = "jsonl"
	done := make(chan error, 1)
	go func() {
		s := &session{opt: r.opt, out: output{w: to}, progress: r.progress}
		err := s.run(ctx, files)
		_ = to.Close()
		done <- err
	}()
	err = jsonreport.Each(ctx, from, func(rep *jsonreport.Report) error {
		if rep.Status != "OK" {
			unread = true
			return nil
		}
		return visit(rep.Own.Capture, rep)
	})
	_ = from.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		cancel()
		<-done
		return false, fmt.Errorf("%s: %w", files[0], err)
	}
	var f *failure
	if err := <-done; err != nil && !errors.As(err, &f) {
		return false, err
	}
	return unread, nil
}

// all are the reports of a file.
func (r *rereader) all(ctx context.Context, path string) (list []jsonreport.Report, err error) {
	ok, err := r.each(ctx, []string{path}, func(_ string, rep *jsonreport.Report) error {
		list = append(list, *rep)
		return nil
	})
	if err == nil && (!ok || len(list) == 0) {
		err = &failure{code: exitNone}
	}
	return list, err
}
