package api

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/backsight/backsight/service/db"
)

// Group is a group in a list.
type Group struct {
	ID           int64     `json:"id"`
	Project      int64     `json:"project"`
	Title        string    `json:"title"`
	Signal       string    `json:"signal"`
	State        string    `json:"state"`
	Assignee     string    `json:"assignee"`
	Count        int64     `json:"count"`
	Devices      int64     `json:"devices"`
	FirstSeen    time.Time `json:"first_seen"`
	LastSeen     time.Time `json:"last_seen"`
	FirstVersion string    `json:"first_version"`
	LastVersion  string    `json:"last_version"`
	// Days are the crashes of the last days, the last one of today.
	Days []int64 `json:"days"`
}

// trendDays is how many days a trend has.
const trendDays = 14

// Filter says which groups are listed. The zero value of a field asks for all.
type Filter struct {
	Project int64
	// State is open, resolved, regressed or ignored; "" are those that are to be looked at: open and regressed ones.
	State, Assignee, Signal, Version, Device, Text string
	// Sort is count, last, first or devices.
	Sort string
	// Page is how many full pages come before, Limit the groups of a page.
	Page, Limit int
	// Bare leaves out the days of each group.
	Bare bool
}

// Orders are the ways to sort groups.
func Orders() []string { return []string{"count", "last", "first", "devices"} }

// maxLimit bounds the groups of an answer, maxPage the pages that are turned.
const maxLimit, maxPage = 10_000, 1000

// sql is the condition of a filter, its parameters and its order.
func (f *Filter) sql() (where string, args []any, order string) {
	terms := []string{"g.project_id = $1", "g.count > 0"}
	args = []any{f.Project}
	add := func(term string, value any) {
		args = append(args, value)
		terms = append(terms, strings.ReplaceAll(term, "?", fmt.Sprintf("$%d", len(args))))
	}
	switch f.State {
	case "":
		terms = append(terms, "g.state IN ('open', 'regressed')")
	case "all":
	default:
		add("g.state = ?", f.State)
	}
	if f.Assignee != "" {
		add("g.assignee = (SELECT id FROM users WHERE name = ?)", f.Assignee)
	}
	if f.Signal != "" {
		add("g.signal = ?", f.Signal)
	}
	if f.Version != "" {
		add("g.id IN (SELECT group_id FROM group_counts WHERE version = ?)", f.Version)
	}
	if f.Device != "" {
		add("g.id IN (SELECT group_id FROM group_devices WHERE device = ?)", f.Device)
	}
	if f.Text != "" {
		add(`lower(g.title) LIKE lower(?) ESCAPE '\'`, "%"+strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(f.Text)+"%")
	}
	order = map[string]string{"last": "g.last_seen", "first": "g.first_seen", "devices": "g.devices"}[f.Sort]
	if order == "" {
		order = "g.count"
	}
	return strings.Join(terms, " AND "), args, order + " DESC, g.id DESC"
}

const groupColumns = `g.id, g.project_id, g.title, g.signal, g.state, coalesce(u.name, ''), g.count, g.devices, g.first_seen, g.last_seen, g.first_version, g.last_version`

func scanGroup(rows *sql.Rows, g *Group) error {
	var first, last int64
	err := rows.Scan(&g.ID, &g.Project, &g.Title, &g.Signal, &g.State, &g.Assignee, &g.Count, &g.Devices, &first, &last, &g.FirstVersion, &g.LastVersion)
	g.FirstSeen, g.LastSeen = at(first), at(last)
	return err
}

// Groups are a page of the groups of a filter; more tells whether there are further ones.
func (d *Data) Groups(ctx context.Context, f Filter) (list []Group, more bool, err error) {
	where, args, order := f.sql()
	limit := min(max(f.Limit, 1), maxLimit)
	args = append(args, limit+1, limit*min(max(f.Page, 0), maxPage))
	list, err = all(ctx, d.db.Read, scanGroup, fmt.Sprintf("SELECT %s FROM groups g LEFT JOIN users u ON u.id = g.assignee WHERE %s ORDER BY %s LIMIT $%d OFFSET $%d",
		groupColumns, where, order, len(args)-1, len(args)), args...)
	if err != nil {
		return nil, false, err
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	if f.Bare {
		return list, more, nil
	}
	return list, more, d.trends(ctx, list)
}

// Totals are how many groups of a project are in each state.
func (d *Data) Totals(ctx context.Context, project int64) (map[string]int64, error) {
	type total struct {
		state string
		n     int64
	}
	list, err := all(ctx, d.db.Read, func(r *sql.Rows, t *total) error { return r.Scan(&t.state, &t.n) },
		"SELECT state, count(*) FROM groups WHERE project_id = $1 AND count > 0 GROUP BY state", project)
	out := map[string]int64{}
	for _, t := range list {
		out[t.state] = t.n
	}
	return out, err
}

// trends fills in the days of groups.
func (d *Data) trends(ctx context.Context, list []Group) error {
	today := db.Day(d.now())
	for i := range list {
		g := &list[i]
		g.Days = make([]int64, trendDays)
		days, err := all(ctx, d.db.Read, func(r *sql.Rows, v *[2]int64) error { return r.Scan(&v[0], &v[1]) },
			"SELECT day, sum(count) FROM group_counts WHERE group_id = $1 AND day > $2 AND day <= $3 GROUP BY day", g.ID, today-trendDays, today)
		if err != nil {
			return err
		}
		for _, v := range days {
			g.Days[trendDays-1-(today-v[0])] = v[1]
		}
	}
	return nil
}
