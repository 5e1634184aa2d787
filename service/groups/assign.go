package groups

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/backsight/backsight/internal/jsonreport"
)

// Crash is a capture with its report.
type Crash struct {
	Capture, Project         int64
	Device, Product, Version string
	// Received is when it came, in milliseconds since 1970.
	Received int64
	Report   *jsonreport.Report
	// Again is the group that the capture was in before its report was made anew, 0 for a first report.
	Again int64
}

// Assigned is what a crash's row of results says of its group and itself.
type Assigned struct {
	Group int64
	// Exact and Stable are the crash's own keys, "" for none.
	Exact, Stable, Title, Signal, Address string
	// Frames are the innermost frames' functions or places.
	Frames         []string
	New, Regressed bool
}

// Assign finds or makes the group of a crash and counts the crash there, in the transaction that writes its result. It must come
// before that row is written. A report made anew is taken from where it was counted.
func Assign(ctx context.Context, tx *sql.Tx, c *Crash) (Assigned, error) {
	rules, err := Active(ctx, tx, c.Project)
	if err != nil {
		return Assigned{}, err
	}
	keys, chain := Of(c.Report, rules)
	out := row(c.Report, keys, chain)
	if out.Group, out.New, err = place(ctx, tx, c, keys, chain, out.Signal); err != nil {
		return out, err
	}
	if c.Again != 0 {
		if same, err := takeBack(ctx, tx, c, &out, keys.Own); same || err != nil {
			return out, err
		}
	}
	out.Regressed, err = counted(ctx, tx, Count{Project: c.Project, Group: out.Group, Signature: keys.Own,
		Device: c.Device, Product: c.Product, Version: c.Version, When: c.Received, N: 1})
	if err != nil || !out.New {
		return out, err
	}
	return out, event(ctx, tx, Event{Project: c.Project, Group: out.Group, Kind: New, Detail: line(c.Version), Time: c.Received})
}

// maxFrames bounds the frames of which a result has the names.
const maxFrames = 16

// row is what a result's row says.
func row(r *jsonreport.Report, keys Keys, chain *jsonreport.Signature) Assigned {
	out := Assigned{Title: keys.Title, Signal: line(r.Crash.Type), Address: line(cmp.Or(r.Crash.Own.Address, r.Crash.Address))}
	if chain != nil {
		out.Exact, out.Stable = chain.Exact, ""
		if isKey(chain.Stable) {
			out.Stable = chain.Stable
		}
	}
	if t := r.Named(); t != nil {
		for i := range t.Frames[:min(len(t.Frames), maxFrames)] {
			f := &t.Frames[i]
			if f.Function != "" {
				out.Frames = append(out.Frames, line(f.Function))
			} else {
				out.Frames = append(out.Frames, line(f.Module+"+"+jsonreport.Short(f.ModuleOffset)))
			}
		}
	}
	return out
}

// place finds the group of a crash by its keys, or makes it.
func place(ctx context.Context, tx *sql.Tx, c *Crash, keys Keys, chain *jsonreport.Signature, signal string) (group int64, made bool, err error) {
	if group, err = led(ctx, tx, c.Project, keys.Own); group != 0 || err != nil {
		return group, false, err
	}
	if keys.Group != keys.Own {
		if group, err = led(ctx, tx, c.Project, keys.Group); err != nil {
			return 0, false, err
		}
	}
	if group != 0 {
		return group, false, lead(ctx, tx, c.Project, keys.Own, group, chain)
	}
	group, err = begin(ctx, tx, c, keys, chain, signal)
	return group, true, err
}

// begin makes the group of a crash, to which its keys lead.
func begin(ctx context.Context, tx *sql.Tx, c *Crash, keys Keys, chain *jsonreport.Signature, signal string) (group int64, err error) {
	if group, err = create(ctx, tx, c, keys, signal); err != nil {
		return 0, err
	}
	if err = lead(ctx, tx, c.Project, keys.Own, group, chain); err != nil {
		return 0, err
	}
	if keys.Group != keys.Own {
		err = lead(ctx, tx, c.Project, keys.Group, group, nil)
	}
	if err == nil && chain != nil {
		err = propose(ctx, tx, c.Project, group, chain, c.Received)
	}
	return group, err
}

// led is the group that a key leads to, 0 for none.
func led(ctx context.Context, q querier, project int64, key string) (group int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT group_id FROM group_signatures WHERE project_id = $1 AND signature = $2", project, key).Scan(&group)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return group, err
}

// lead makes a key lead to a group.
func lead(ctx context.Context, tx *sql.Tx, project int64, key string, group int64, chain *jsonreport.Signature) error {
	text := []byte{}
	if chain != nil {
		var err error
		if text, err = json.Marshal(chain); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO group_signatures (project_id, signature, group_id, chain) VALUES ($1, $2, $3, $4)"+
		" ON CONFLICT (project_id, signature) DO UPDATE SET group_id = excluded.group_id", project, key, group, string(text))
	return err
}

// create makes a group without crashes.
func create(ctx context.Context, tx *sql.Tx, c *Crash, keys Keys, signal string) (group int64, err error) {
	err = tx.QueryRowContext(ctx, "INSERT INTO groups (project_id, signature, title, signal, first_seen, last_seen, first_version, last_version)"+
		" VALUES ($1, $2, $3, $4, $5, $5, $6, $6) RETURNING id", c.Project, keys.Group, keys.Title, signal, c.Received, c.Version).Scan(&group)
	return group, err
}

// takeBack takes a crash that has a report anew from where it was counted; same: it is counted where it was.
func takeBack(ctx context.Context, tx *sql.Tx, c *Crash, now *Assigned, key string) (same bool, err error) {
	var exact string
	if err = tx.QueryRowContext(ctx, "SELECT exact FROM results WHERE capture_id = $1", c.Capture).Scan(&exact); errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	was := "exact:" + exact
	if exact == "" {
		err = tx.QueryRowContext(ctx, "SELECT signature FROM group_counts WHERE group_id = $1 AND version = $2 AND product = $3"+
			" AND signature LIKE 'none:%' LIMIT 1", c.Again, c.Version, c.Product).Scan(&was)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	if c.Again == now.Group && was == key {
		return true, nil
	}
	_, err = counted(ctx, tx, Count{Project: c.Project, Group: c.Again, Signature: was, Device: c.Device, Product: c.Product, Version: c.Version,
		When: c.Received, N: -1})
	return false, err
}
