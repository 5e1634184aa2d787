package api

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/backsight/backsight/service/groups"
)

// Detail is all that is known of a group.
type Detail struct {
	Group
	// MergedInto is the group that has its crashes now, 0 for itself.
	MergedInto int64     `json:"merged_into"`
	ResolvedIn string    `json:"resolved_in"`
	Notes      string    `json:"notes"`
	Links      []Link    `json:"links"`
	Versions   []Version `json:"versions"`
	TopDevices []Device  `json:"top_devices"`
	Events     []Event   `json:"events"`
	Keys       []string  `json:"keys"`
	Captures   []Capture `json:"captures"`
	Proposals  []Merge   `json:"proposals"`
}

// Link is a page elsewhere, such as an issue of a tracker.
type Link struct {
	URL   string `json:"url"`
	Label string `json:"label"`
}

// Version is how often a group was seen in one.
type Version struct {
	Product string `json:"product"`
	Version string `json:"version"`
	Count   int64  `json:"count"`
}

// Device is how often a group was seen on one.
type Device struct {
	Device   string    `json:"device"`
	Count    int64     `json:"count"`
	LastSeen time.Time `json:"last_seen"`
}

// Event is something that became of a group.
type Event struct {
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Detail string    `json:"detail"`
	User   string    `json:"user"`
}

// maxListed bounds the parts of a group or capture that are listed.
const maxListed = 50

// Group is all that is known of a group.
func (d *Data) Group(ctx context.Context, id int64) (*Detail, error) {
	g := &Detail{}
	var links string
	var first, last int64
	err := d.db.Read.QueryRowContext(ctx, "SELECT "+groupColumns+", g.merged_into, g.resolved_in, g.notes, g.links FROM groups g LEFT JOIN users u ON u.id = g.assignee WHERE g.id = $1", id).
		Scan(&g.ID, &g.Project, &g.Title, &g.Signal, &g.State, &g.Assignee, &g.Count, &g.Devices, &first, &last, &g.FirstVersion, &g.LastVersion,
			&g.MergedInto, &g.ResolvedIn, &g.Notes, &links)
	if err != nil {
		return nil, none(err)
	}
	g.FirstSeen, g.LastSeen = at(first), at(last)
	if err := json.Unmarshal([]byte(links), &g.Links); err != nil {
		return nil, err
	}
	one := []Group{g.Group}
	if err := d.trends(ctx, one); err != nil {
		return nil, err
	}
	g.Days = one[0].Days
	return g, d.parts(ctx, g)
}

// parts fills in the lists of a group.
func (d *Data) parts(ctx context.Context, g *Detail) (err error) {
	if g.Versions, err = all(ctx, d.db.Read, func(r *sql.Rows, v *Version) error { return r.Scan(&v.Product, &v.Version, &v.Count) },
		"SELECT product, version, sum(count) AS n FROM group_counts WHERE group_id = $1 GROUP BY product, version ORDER BY n DESC LIMIT $2", g.ID, maxListed); err != nil {
		return err
	}
	if g.TopDevices, err = d.devices(ctx, g); err != nil {
		return err
	}
	if g.Events, err = all(ctx, d.db.Read, func(r *sql.Rows, e *Event) error {
		var when int64
		err := r.Scan(&when, &e.Kind, &e.Detail, &e.User)
		e.Time = at(when)
		return err
	}, "SELECT e.time, e.kind, e.detail, coalesce(u.name, '') FROM group_events e LEFT JOIN users u ON u.id = e.user_id WHERE e.group_id = $1 ORDER BY e.id DESC LIMIT $2", g.ID, maxListed); err != nil {
		return err
	}
	if g.Keys, err = all(ctx, d.db.Read, func(r *sql.Rows, s *string) error { return r.Scan(s) },
		"SELECT signature FROM group_signatures WHERE group_id = $1 ORDER BY signature LIMIT $2", g.ID, maxListed); err != nil {
		return err
	}
	if g.Captures, err = d.captures(ctx, "r.group_id = $1", "r.capture_id", maxListed, g.ID); err != nil {
		return err
	}
	g.Proposals, err = d.merges(ctx, "(m.group_id = $1 OR m.into_id = $1) AND m.state = 'proposed'", g.ID)
	return err
}

// maxDevices bounds the devices of a group that are all sorted; of more, those of the last thousand reports are told.
const maxDevices = 2000

// devices are those with the most crashes of a group.
func (d *Data) devices(ctx context.Context, g *Detail) ([]Device, error) {
	query := "SELECT device, sum(count) AS n, max(last_seen) FROM group_devices WHERE group_id = $1 AND device <> '' GROUP BY device ORDER BY n DESC, device LIMIT $2"
	if g.Devices > maxDevices {
		query = `SELECT c.device, count(*) AS n, max(c.received) FROM (SELECT capture_id FROM results WHERE group_id = $1 ORDER BY capture_id DESC LIMIT 1000) r
CROSS JOIN captures c WHERE c.id = r.capture_id AND c.device <> '' GROUP BY c.device ORDER BY n DESC, c.device LIMIT $2`
	}
	return all(ctx, d.db.Read, func(r *sql.Rows, v *Device) error {
		var last int64
		err := r.Scan(&v.Device, &v.Count, &last)
		v.LastSeen = at(last)
		return err
	}, query, g.ID, maxListed)
}

// Recent tells that the devices listed are those of the last thousand reports.
func (g *Detail) Recent() bool { return g.Devices > maxDevices }

// Merge is two groups that may be one, and why.
type Merge struct {
	ID      int64   `json:"id"`
	From    Brief   `json:"from"`
	Into    Brief   `json:"into"`
	Why     string  `json:"why"`
	Score   float64 `json:"score"`
	State   string  `json:"state"`
	Project int64   `json:"project"`
}

// Brief is what a group is called.
type Brief struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Count int64  `json:"count"`
}

// Merges are the proposals of a project that nobody has decided about, those most alike first.
func (d *Data) Merges(ctx context.Context, project int64) ([]Merge, error) {
	return d.merges(ctx, "m.project_id = $1 AND m.state = 'proposed'", project)
}

func (d *Data) merges(ctx context.Context, where string, args ...any) ([]Merge, error) {
	return all(ctx, d.db.Read, func(r *sql.Rows, m *Merge) error {
		return r.Scan(&m.ID, &m.Project, &m.From.ID, &m.From.Title, &m.From.Count, &m.Into.ID, &m.Into.Title, &m.Into.Count, &m.Why, &m.Score, &m.State)
	}, "SELECT m.id, m.project_id, a.id, a.title, a.count, b.id, b.title, b.count, m.why, m.score, m.state FROM merges m JOIN groups a ON a.id = m.group_id"+
		" JOIN groups b ON b.id = m.into_id WHERE "+where+" ORDER BY m.score DESC, m.id DESC LIMIT 100", args...)
}

// States are those that a group may be given.
func States() []string {
	return []string{groups.Open, groups.Resolved, groups.Ignored}
}
