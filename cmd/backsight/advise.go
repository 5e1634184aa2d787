//go:build !small

package main

import (
	"github.com/backsight/backsight/internal/advice"
	"github.com/backsight/backsight/report"
	"github.com/spf13/pflag"
)

func (o *btOptions) addAdvise(f *pflag.FlagSet) {
	f.BoolVar(&o.wantsAdvice, "advise", false, "say what the capture lacks for whole chains, and how its writer is told")
}

// advise adds to a report what its capture, of a format, lacks, where that was asked for.
func (s *session) advise(r *report.Report, format string) {
	if s.opt.wantsAdvice && r.Snapshot != nil {
		r.Advice = advice.Of(r, format)
	}
}
