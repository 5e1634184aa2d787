package worker

import (
	"context"
	"time"

	"github.com/backsight/backsight/service/groups"
	"github.com/riverqueue/river"
)

// RegroupArgs are a job's that makes the groups of a project anew.
type RegroupArgs struct {
	Project int64 `json:"project"`
}

// Kind implements river.JobArgs.
func (RegroupArgs) Kind() string { return "regroup" }

type regrouper struct {
	river.WorkerDefaults[RegroupArgs]
	w *Workers
}

// Timeout implements river.Worker: a project may have a million results. What was moved before it ends stays.
func (*regrouper) Timeout(*river.Job[RegroupArgs]) time.Duration { return -1 }

// Work implements river.Worker.
func (r *regrouper) Work(ctx context.Context, job *river.Job[RegroupArgs]) error {
	n, err := groups.Regroup(ctx, r.w.DB, job.Args.Project, time.Now())
	r.w.Log.Info("regrouped", "project", job.Args.Project, "moved", n, "error", err)
	return err
}

// Regroup has the groups of a project made anew.
func (w *Workers) Regroup(ctx context.Context, project int64) error {
	_, err := w.Client.Insert(ctx, RegroupArgs{project}, &river.InsertOpts{Queue: again, Priority: 1})
	return err
}
