package api

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/service/db"
)

// Found is what a search has found: the last captures, and the groups of the last thousand.
type Found struct {
	Captures []Capture `json:"captures"`
	Groups   []Brief   `json:"groups"`
	// Looked is how many captures the groups are of, at most maxGrouped.
	Looked int64 `json:"looked"`
	// Partial: one term has found more captures than were looked through for the others.
	Partial bool `json:"partial"`
}

// maxGrouped bounds the captures whose groups a search tells, maxTerms the terms of a search.
const maxGrouped, maxTerms = 1000, 16

// maxLooked bounds the captures that one term finds and that are looked through for the others.
const maxLooked = 20_000

// query is a search: words of the search table, and conditions of captures and results, each with its parameter.
type query struct {
	words         []db.Phrase
	terms         map[string]string // by field
	address       []string          // in the ways that reports write it
	after, before int64             // milliseconds since 1970, 0: any
	args          []any
}

// arg is a parameter of the statement.
func (q *query) arg(v any) string {
	q.args = append(q.args, v)
	return "$" + number(len(q.args))
}

func number(n int) string { return strconv.Itoa(n) }

// Fields are what a search may name, as in "function:pack".
func Fields() []string {
	return []string{"function", "module", "build", "annotation", "log", "address", "signal", "device", "product", "version", "after", "before"}
}

// Search finds captures by words, all of which they must have:
//
//	on_packet                     in any text of the capture
//	function:pack module:netd     a function, a module; build:, annotation:, log: likewise
//	signal:SIGSEGV address:0x40   what happened; device:, product:, version: likewise
//	after:2026-01-31 before:…     when it was received (UTC)
//	"watchdog bit"                words in this order; pack* words that begin so
//
// One term is asked of the tables, that which is likely to find the fewest; the last 20,000 captures that it finds are looked through
// for the others. A search that takes longer than searchPatience, such as of a word's first letter alone, is given up.
func (d *Data) Search(ctx context.Context, project int64, text string) (*Found, error) {
	limited, cancel := context.WithTimeout(ctx, searchPatience)
	defer cancel()
	var found *Found
	err := d.db.Looking(limited, func(ask db.Asker) (err error) {
		found, err = d.search(limited, ask, project, text)
		return err
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: it finds too much; give more letters, or a module, a device, a time", ErrSearch)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// searchPatience is how long a search may take.
const searchPatience = 3 * time.Second

func (d *Data) search(ctx context.Context, ask db.Asker, project int64, text string) (*Found, error) {
	q := query{terms: map[string]string{}}
	for _, term := range split(text) {
		if err := q.term(term); err != nil {
			return nil, err
		}
	}
	from, to, err := between(ctx, ask, project, q.after, q.before)
	if err != nil {
		return nil, err
	}
	driver := d.driver(&q, project, from, to)
	bounds := slices.Clone(q.args)
	source := d.db.Whole(driver) + " CROSS JOIN captures c CROSS JOIN results r WHERE c.id = d.id AND r.capture_id = d.id AND " + d.where(&q, project)
	out, err := d.found(ctx, ask, source, q.args)
	if err != nil {
		return nil, searched(err)
	}
	if len(q.terms)+min(1, len(q.words))+min(1, len(q.address)) == 1 {
		return out, nil
	}
	var looked int64
	if err := ask.QueryRowContext(ctx, "SELECT count(*) FROM ("+driver+") d", bounds...).Scan(&looked); err != nil {
		return nil, searched(err)
	}
	out.Partial = looked == maxLooked
	return out, nil
}

// between are the numbers of captures between two times: numbers and times of receipt rise together, but for those that came at once.
func between(ctx context.Context, ask db.Asker, project, after, before int64) (from, to int64, err error) {
	const slack = 5000
	to = 1<<62 - 1
	for _, end := range []struct {
		at, off int64
		to      *int64
	}{{after, -slack, &from}, {before, slack, &to}} {
		if end.at == 0 {
			continue
		}
		err = ask.QueryRowContext(ctx, "SELECT id FROM captures WHERE project_id = $1 AND received >= $2 ORDER BY received LIMIT 1", project, end.at).Scan(end.to)
		if errors.Is(err, sql.ErrNoRows) {
			*end.to = 1<<62 - 1
		} else if err != nil {
			return 0, 0, err
		}
		*end.to += end.off
	}
	return from, to, nil
}

// driver finds the captures of one term, the last ones first.
func (d *Data) driver(q *query, project, from, to int64) string {
	last := func(id, table, where string) string {
		if q.after != 0 || q.before != 0 { // without a time, bounds would only keep SQLite from the index of what is asked for
			where += fmt.Sprintf(" AND %s BETWEEN %s AND %s", id, q.arg(from), q.arg(to))
		}
		return fmt.Sprintf("SELECT %s AS id FROM %s WHERE %s ORDER BY %s DESC LIMIT %d", id, table, where, id, maxLooked)
	}
	switch {
	case q.wordsDrive():
		return last("rowid", "search", d.db.Matching(q.words, q.arg))
	case q.terms["device"] != "":
		return last("id", "captures", "project_id = "+q.arg(project)+" AND device = "+q.arg(q.terms["device"]))
	case len(q.address) > 0:
		return last("capture_id", "results", "address IN ("+q.addresses()+")")
	case q.terms["version"] != "":
		return last("id", "captures", "project_id = "+q.arg(project)+" AND version = "+q.arg(q.terms["version"]))
	case q.terms["signal"] != "":
		return last("capture_id", "results", "signal = "+q.arg(q.terms["signal"]))
	}
	return last("id", "captures", "project_id = "+q.arg(project))
}

// wordsDrive tells whether captures are found by words: where nothing else finds few, and where words have only a beginning, which
// costs much to ask of each capture.
func (q *query) wordsDrive() bool {
	few := q.terms["device"] != "" || len(q.address) > 0
	return len(q.words) > 0 && (!few || slices.ContainsFunc(q.words, func(w db.Phrase) bool { return w.Begins }))
}

func (q *query) addresses() string {
	var list []string
	for _, a := range q.address {
		list = append(list, q.arg(a))
	}
	return strings.Join(list, ", ")
}

// where are all terms, as conditions of captures and results.
func (d *Data) where(q *query, project int64) string {
	list := []string{"c.project_id = " + q.arg(project)}
	for _, f := range []struct{ field, column string }{{"device", "c.device"}, {"product", "c.product"}, {"version", "c.version"}, {"signal", "r.signal"}} {
		if v := q.terms[f.field]; v != "" {
			list = append(list, f.column+" = "+q.arg(v))
		}
	}
	if len(q.address) > 0 {
		list = append(list, "r.address IN ("+q.addresses()+")")
	}
	if q.after != 0 {
		list = append(list, "c.received >= "+q.arg(q.after))
	}
	if q.before != 0 {
		list = append(list, "c.received < "+q.arg(q.before))
	}
	if len(q.words) > 0 && !q.wordsDrive() {
		list = append(list, "d.id IN (SELECT rowid FROM search WHERE "+d.db.Matching(q.words, q.arg)+" AND rowid = d.id)")
	}
	return strings.Join(list, " AND ")
}

// hit is a capture that was found, and its group.
type hit struct {
	ID    int64 `json:"id"`
	Group int64 `json:"-"`
}

// found are the last captures of a source, and the groups of more of them.
func (d *Data) found(ctx context.Context, ask db.Asker, source string, args []any) (*Found, error) {
	hits, err := all(ctx, ask, func(r *sql.Rows, h *hit) error { return r.Scan(&h.ID, &h.Group) },
		fmt.Sprintf("SELECT d.id, r.group_id FROM %s ORDER BY d.id DESC LIMIT %d", source, maxGrouped), args...)
	if err != nil {
		return nil, err
	}
	list, err := db.Rows(hits[:min(len(hits), maxListed)])
	if err != nil {
		return nil, err
	}
	out := &Found{Looked: int64(len(hits))}
	out.Captures, err = all(ctx, ask, scanCapture, "SELECT "+captureColumns+" FROM "+d.db.Table("$1", "id BIGINT")+
		" CROSS JOIN captures c CROSS JOIN results r WHERE c.id = list.id AND r.capture_id = list.id ORDER BY list.id DESC", list)
	if err == nil {
		out.Groups, err = d.groupsOf(ctx, ask, hits)
	}
	return out, err
}

// groupsOf are the groups that most of what was found is of.
func (d *Data) groupsOf(ctx context.Context, ask db.Asker, hits []hit) ([]Brief, error) {
	counts := map[int64]int64{}
	for _, h := range hits {
		counts[h.Group]++
	}
	var list []Brief
	for id, n := range counts {
		list = append(list, Brief{ID: id, Count: n})
	}
	slices.SortFunc(list, func(a, b Brief) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID)) })
	list = list[:min(len(list), maxListed)]
	rows, err := db.Rows(list)
	if err != nil {
		return nil, err
	}
	return all(ctx, ask, scanBrief, "SELECT g.id, g.title, list.count FROM "+d.db.Table("$1", "id BIGINT", "count BIGINT")+
		" CROSS JOIN groups g WHERE g.id = list.id ORDER BY list.count DESC, g.id", rows)
}

func scanBrief(r *sql.Rows, g *Brief) error { return r.Scan(&g.ID, &g.Title, &g.Count) }

// ErrSearch says that a search cannot be understood.
var ErrSearch = errors.New("this search cannot be understood")

// searched makes ErrSearch of what the search table says of a query.
func searched(err error) error {
	if err != nil && strings.Contains(err.Error(), "fts5: syntax error") {
		return ErrSearch
	}
	return err
}

// split are the terms of a text: what stands between blanks, or between quotes with what stands before.
func split(text string) (terms []string) {
	var b strings.Builder
	quoted := false
	for _, r := range text + " " {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted, r == '\n', r == '\t':
			if b.Len() > 0 && len(terms) < maxTerms {
				terms = append(terms, b.String())
			}
			b.Reset()
			continue
		}
		b.WriteRune(r)
	}
	if quoted && b.Len() > 0 && len(terms) < maxTerms {
		terms = append(terms, strings.TrimSpace(b.String()))
	}
	return terms
}

// term adds a term to the query.
func (q *query) term(term string) error {
	field, value, ok := strings.Cut(term, ":")
	if !ok || !slices.Contains(Fields(), field) {
		field, value = "", term // such as net::Socket::read
	}
	exact := strings.ReplaceAll(value, `"`, "")
	if exact == "" {
		return nil
	}
	switch field {
	case "function", "module", "build", "annotation":
		q.words = append(q.words, phrase(field+"s", value))
	case "log":
		q.words = append(q.words, phrase("log", value))
	case "":
		q.words = append(q.words, phrase("", value))
	case "address":
		return q.place(exact)
	case "after", "before":
		return q.time(field, exact)
	default:
		if before := q.terms[field]; before != "" && before != exact {
			return fmt.Errorf("%w: %s: stands twice", ErrSearch, field)
		}
		q.terms[field] = exact
	}
	return nil
}

// place adds an address, however many zeros it has.
func (q *query) place(text string) error {
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
	if err != nil {
		return fmt.Errorf("%w: %q is no address", ErrSearch, text)
	}
	q.address = []string{fmt.Sprintf("0x%016x", v), fmt.Sprintf("0x%08x", v), fmt.Sprintf("0x%x", v)}
	return nil
}

func (q *query) time(field, text string) error {
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		when, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if field == "after" {
			q.after = max(1, when.UnixMilli())
		} else {
			q.before = max(1, when.UnixMilli())
		}
		return nil
	}
	return fmt.Errorf("%w: %q is no time such as 2026-01-31 or 2026-01-31T12:00", ErrSearch, text)
}

// phrase is a text as words that stand together in a column; a star behind it asks for words that begin so.
func phrase(column, text string) db.Phrase {
	text = strings.ReplaceAll(text, `"`, "")
	if t, ok := strings.CutSuffix(text, "*"); ok && t != "" {
		return db.Phrase{Column: column, Text: t, Begins: true}
	}
	return db.Phrase{Column: column, Text: text}
}
