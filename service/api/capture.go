package api

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/packing"
)

// Capture is a capture in a list.
type Capture struct {
	// Name is what its sender was told: the report's id.
	Name     string    `json:"name"`
	Device   string    `json:"device"`
	Product  string    `json:"product"`
	Version  string    `json:"version"`
	Received time.Time `json:"received"`
	Status   string    `json:"status"`
	Reason   string    `json:"reason"`
	Group    int64     `json:"group"`
	Title    string    `json:"title"`
	Signal   string    `json:"signal"`
	Address  string    `json:"address"`
	Frames   []string  `json:"frames"`
	Kept     bool      `json:"kept"`
}

const captureColumns = `c.name, c.device, c.product, c.version, c.received, c.status, c.reason, c.kept, coalesce(r.group_id, 0), coalesce(r.title, ''),
 coalesce(r.signal, ''), coalesce(r.address, ''), coalesce(r.frames, '[]')`

// scan are the places of captureColumns.
func (c *Capture) scan(received *int64, frames *string) []any {
	return []any{&c.Name, &c.Device, &c.Product, &c.Version, received, &c.Status, &c.Reason, &c.Kept, &c.Group, &c.Title, &c.Signal, &c.Address, frames}
}

// fill takes what scan has read.
func (c *Capture) fill(received int64, frames string) error {
	c.Received = at(received)
	return json.Unmarshal([]byte(frames), &c.Frames)
}

func scanCapture(rows *sql.Rows, c *Capture) error {
	var received int64
	var frames string
	if err := rows.Scan(c.scan(&received, &frames)...); err != nil {
		return err
	}
	return c.fill(received, frames)
}

// captures are the last ones of a condition that have a result.
func (d *Data) captures(ctx context.Context, where, order string, limit int, args ...any) ([]Capture, error) {
	args = append(args, limit)
	return all(ctx, d.db.Read, scanCapture, "SELECT "+captureColumns+" FROM results r CROSS JOIN captures c WHERE c.id = r.capture_id AND "+where+
		" ORDER BY "+order+" DESC LIMIT $"+number(len(args)), args...)
}

// Report is a capture with all that came with it and became of it.
type Report struct {
	Capture
	ID          int64             `json:"-"`
	Project     int64             `json:"project"`
	File        string            `json:"file"`
	Kind        string            `json:"kind"`
	Size        int64             `json:"size"`
	SHA256      string            `json:"sha256"`
	Engine      string            `json:"engine"`
	Annotations map[string]string `json:"annotations"`
	Log         string            `json:"log"`
	Missing     []Missing         `json:"missing"`
	// Paged tells whether there is a page of the report, Told whether there is its JSON.
	Paged, Told bool `json:"-"`
}

// canonical is a capture's name as the tables have it; senders are told it with hyphens.
func canonical(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }

// Report is a capture by its name.
func (d *Data) Report(ctx context.Context, name string) (*Report, error) {
	r := &Report{}
	var received int64
	var frames, annotations string
	var sum []byte
	places := append(r.scan(&received, &frames), &r.ID, &r.Project, &r.File, &r.Kind, &r.Size, &sum, &r.Engine, &annotations, &r.Log, &r.Told, &r.Paged)
	err := d.db.Read.QueryRowContext(ctx, "SELECT "+captureColumns+`, c.id, c.project_id, c.file, c.kind, c.size, c.sha256, coalesce(r.engine, ''), c.annotations, c.log,
r.report IS NOT NULL, r.page IS NOT NULL FROM captures c LEFT JOIN results r ON r.capture_id = c.id WHERE c.name = $1`, canonical(name)).Scan(places...)
	if err != nil {
		return nil, none(err)
	}
	r.SHA256 = hex.EncodeToString(sum)
	if err := r.fill(received, frames); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(annotations), &r.Annotations); err != nil {
		return nil, err
	}
	r.Missing, err = all(ctx, d.db.Read, func(rows *sql.Rows, m *Missing) error { return rows.Scan(&m.BuildID, &m.Name) },
		"SELECT build_id, name FROM missing WHERE capture_id = $1 ORDER BY name LIMIT $2", r.ID, maxListed)
	return r, err
}

// JSON is what `bt -f json` says of a capture, a report or an array of them.
func (d *Data) JSON(ctx context.Context, name string) ([]byte, error) {
	return d.blob(ctx, "report", name)
}

// Page is what `bt -f html` says of a capture. Nothing in it is to be believed: show it where it can reach nothing.
func (d *Data) Page(ctx context.Context, name string) ([]byte, error) {
	return d.blob(ctx, "page", name)
}

func (d *Data) blob(ctx context.Context, column, name string) ([]byte, error) {
	var packed []byte
	err := d.db.Read.QueryRowContext(ctx, "SELECT r."+column+" FROM results r JOIN captures c ON c.id = r.capture_id WHERE c.name = $1", canonical(name)).Scan(&packed)
	if err == nil && packed == nil {
		err = ErrNone
	}
	if err != nil {
		return nil, none(err)
	}
	return packing.Unpack(packed, maxReport)
}

// maxReport bounds a report, as JSON or as a page, in bytes.
const maxReport = 256 << 20

// Parsed is the report by which a capture is named: the first that is signed, else the first.
func (d *Data) Parsed(ctx context.Context, name string) (*jsonreport.Report, error) {
	text, err := d.JSON(ctx, name)
	if err != nil {
		return nil, err
	}
	var found *jsonreport.Report
	err = jsonreport.Each(ctx, bytes.NewReader(text), func(r *jsonreport.Report) error {
		if found == nil || found.Named() == nil && r.Named() != nil {
			found = r
		}
		return nil
	})
	if err == nil && found == nil {
		err = ErrNone
	}
	return found, err
}

// Missing is a binary that captures named and that is not at hand.
type Missing struct {
	BuildID string `json:"build_id"`
	Name    string `json:"name"`
	// Captures are how many wait for it.
	Captures int64 `json:"captures"`
}

// Missing are the binaries that the most captures wait for.
func (d *Data) Missing(ctx context.Context) ([]Missing, error) {
	return all(ctx, d.db.Read, func(r *sql.Rows, m *Missing) error { return r.Scan(&m.BuildID, &m.Name, &m.Captures) },
		`SELECT f.build_id, (SELECT name FROM missing m WHERE m.build_id = f.build_id LIMIT 1), f.n
FROM (SELECT build_id, count(*) AS n FROM missing GROUP BY build_id ORDER BY n DESC, build_id LIMIT 500) f`)
}
