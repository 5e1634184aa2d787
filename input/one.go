package input

import (
	"context"
	"io"

	"github.com/backsight/backsight/target"
)

// One is the Stream of a capture that is one snapshot. Its Close has nothing to release:
// the capture's bytes belong to the Capture.
func One(snap *target.Snapshot) Stream { return &single{snap} }

type single struct{ snap *target.Snapshot }

func (s *single) Next(ctx context.Context) (*target.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	snap := s.snap
	if s.snap = nil; snap == nil {
		return nil, io.EOF
	}
	return snap, nil
}

func (s *single) Close() error { return nil }
