package worker

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/db"
)

// maxWords bounds the text of a kind that a capture is found by.
const maxWords = 64 << 10

// words are texts, each once, as long as they do not exceed maxWords.
type words struct {
	seen map[string]bool
	size int
	list []string
}

func (w *words) add(s string) {
	if s == "" || w.seen[s] || w.size+len(s) > maxWords {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[s] = true
	w.size += len(s) + 1
	w.list = append(w.list, s)
}

func (w *words) String() string { return strings.Join(w.list, "\n") }

// index has a capture found by the words of its reports, of its annotations and of its log.
func index(ctx context.Context, d *db.DB, tx *sql.Tx, c *capture, reports []byte) error {
	var functions, modules, builds words
	err := jsonreport.Each(ctx, bytes.NewReader(reports), func(r *jsonreport.Report) error {
		for i := range r.Threads {
			for _, f := range r.Threads[i].Frames {
				functions.add(f.Function)
				for _, inline := range f.Inlines {
					functions.add(inline.Function)
				}
			}
		}
		for _, m := range r.Modules {
			modules.add(m.Name)
			builds.add(strings.ToLower(m.ID))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return write(ctx, d, tx, c, &functions, &modules, &builds)
}

// write writes the words of a capture.
func write(ctx context.Context, d *db.DB, tx *sql.Tx, c *capture, functions, modules, builds *words) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM search WHERE rowid = $1", c.id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO search (rowid, functions, modules, builds, annotations, log) VALUES ($1, $2, $3, $4, $5, $6)", c.id,
		d.Words(functions.String()), d.Words(modules.String()), d.Words(builds.String()), d.Words(annotations(c)), d.Words(c.log[max(0, len(c.log)-maxWords):]))
	return err
}

// annotations are those of a capture as words.
func annotations(c *capture) string {
	var list map[string]string
	_ = json.Unmarshal([]byte(c.annotations), &list) // it is ours
	var w words
	for _, s := range []string{c.device, c.product, c.version, c.file} {
		w.add(s)
	}
	for _, k := range slices.Sorted(maps.Keys(list)) {
		w.add(k)
		w.add(list[k])
	}
	return w.String()
}

// maxMissing bounds the binaries that a capture waits for.
const maxMissing = 256

// modules are those of a report, as far as binaries go.
type modules struct {
	Modules []struct {
		Name  string  `json:"filename"`
		Code  *string `json:"code_id"`
		Debug *string `json:"debug_id"`
		Own   struct {
			File *string `json:"file"`
		} `json:"backsight"`
	}
}

// modulesOf are those of one report or several.
func modulesOf(reports []byte) (list []modules, err error) {
	if bytes.HasPrefix(reports, []byte("[")) {
		return list, json.Unmarshal(reports, &list)
	}
	list = make([]modules, 1)
	return list, json.Unmarshal(reports, &list[0])
}

// named are the IDs by which a report's modules may have binaries: build IDs, and those of symbol files.
func named(reports []byte) ([]string, error) {
	list, err := modulesOf(reports)
	ids := map[string]bool{}
	for _, r := range list {
		for _, m := range r.Modules {
			for _, id := range []*string{m.Code, m.Debug} {
				if id != nil && *id != "" {
					ids[strings.ToLower(strings.ReplaceAll(*id, "-", ""))] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(ids)), err
}

// lacking are the binaries that a report names by their build ID and that were not at hand: the names by IDs.
func lacking(reports []byte) (map[string]string, error) {
	list, err := modulesOf(reports)
	ids := map[string]string{}
	for _, r := range list {
		for _, m := range r.Modules {
			if m.Code != nil && *m.Code != "" && m.Own.File == nil && len(ids) < maxMissing {
				ids[strings.ToLower(*m.Code)] = cmp.Or(m.Name, "?")
			}
		}
	}
	return ids, err
}

// missing lists the binaries that a capture waits for. One that has come since the child began has the capture done again.
func (w *Workers) missing(ctx context.Context, tx *sql.Tx, c *capture, reports []byte, began time.Time) error {
	ids, err := lacking(reports)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM missing WHERE capture_id = $1", c.id); err != nil {
		return err
	}
	come := 0
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if _, err := tx.ExecContext(ctx, "INSERT INTO missing (build_id, capture_id, name) VALUES ($1, $2, $3)", id, c.id, ids[id]); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM binaries WHERE build_id = $1 AND received >= $2", id, db.Milli(began)).Scan(&n); err != nil {
			return err
		}
		come += n
	}
	if come > 0 {
		return w.insert(ctx, tx, []int64{c.id}, true)
	}
	return nil
}
