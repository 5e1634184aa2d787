package e2e_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/symbol"
)

// TestClosedMeanwhile: sixty-four goroutines use one Unwinder and, eight at a time, one Files, while others close the Files and
// end contexts at random. A report is what it is when nobody disturbs, or an error or an issue says why not.
func TestClosedMeanwhile(t *testing.T) {
	const capture, modules = "../../testdata/mips-deref/core.gz", "../../testdata/mips-deref/modules"
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// once is the text of a report, and what an error or an issue says.
	once := func(ctx context.Context, files *input.Files) (text, says string) {
		stream, err := backsight.Open(ctx, capture, input.Env{Files: files})
		if err != nil {
			return "", err.Error()
		}
		defer stream.Close()
		snap, err := stream.Next(ctx)
		if err != nil {
			return "", err.Error()
		}
		traces, err := u.Backtraces(ctx, snap)
		if err != nil {
			return "", err.Error()
		}
		r := backsight.Report(ctx, snap, traces, &symbol.Symbolizer{})
		for _, i := range r.Issues {
			says += i.Text
		}
		if err := ctx.Err(); err != nil {
			says += err.Error()
		}
		return string(render.AppendText(nil, r, render.Style{})), says
	}
	opened := func() *input.Files { return backsight.NewFiles(input.FileOptions{Sysroots: []string{modules}}) }
	files := opened()
	want, says := once(t.Context(), files)
	if says != "" || !strings.Contains(want, "proto_parse") {
		t.Fatalf("%s\n%s", want, says)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Open(modules); !errors.Is(err, os.ErrClosed) {
		t.Errorf("opened after Close: %v", err)
	}
	var all sync.WaitGroup
	for group := range 8 {
		random := rand.New(rand.NewPCG(uint64(group), 0))
		all.Go(func() {
			for range 3 {
				files := opened()
				ctx, cancel := context.WithCancel(t.Context())
				var users sync.WaitGroup
				for range 8 {
					users.Go(func() {
						for range 3 {
							if got, says := once(ctx, files); got != want && says == "" {
								t.Errorf("got, with no word why:\n%s", got)
							}
						}
					})
				}
				time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
				if random.IntN(3) == 0 {
					cancel()
				}
				if err := files.Close(); err != nil {
					t.Error(err)
				}
				users.Wait()
				cancel()
			}
		})
	}
	all.Wait()
}
