package store

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// settled is how long a segment has not been written to before it is looked at: whoever appended to it has said by then, in the
// database, what lives.
const settled = 10 * time.Minute

// moveAtOnce bounds the bodies that are moved between two synchronisations.
const moveAtOnce = 64

// Compact implements Store. The segment that is written to stays.
func (d *Disk) Compact(ctx context.Context, live func(uint64) (map[Ref]Sum, error), moved func(map[Ref]Ref) error) error {
	segments, err := d.segments()
	if err != nil {
		return err
	}
	for _, s := range segments {
		st, err := os.Stat(d.path(s))
		if err != nil {
			return err
		}
		if d.writes(s) || time.Since(st.ModTime()) < settled {
			continue
		}
		refs, err := live(s)
		if err != nil {
			return err
		}
		var size int64
		for r := range refs {
			size += r.Size
		}
		if size > st.Size()/2 {
			continue
		}
		if err := move(ctx, d, refs, moved); err != nil {
			return err
		}
		if err := os.Remove(d.path(s)); err != nil {
			return err
		}
	}
	return SyncDir(d.dir)
}

func (d *Disk) writes(segment uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return segment == d.last
}

// move appends bodies again, and tells where they are now.
func move(ctx context.Context, d Store, refs map[Ref]Sum, moved func(map[Ref]Ref) error) error {
	var old []Ref
	var bodies []Body
	flush := func() error {
		now, err := d.Append(ctx, bodies)
		if err != nil {
			return err
		}
		places := map[Ref]Ref{}
		for i, r := range now {
			places[old[i]] = r
		}
		old, bodies = nil, nil
		return moved(places)
	}
	for ref, sum := range refs {
		size, err := length(d, ref)
		if err != nil {
			return err
		}
		old = append(old, ref)
		bodies = append(bodies, Body{sum, size, func() (io.ReadCloser, error) { return d.Open(ref) }})
		if len(bodies) == moveAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return flush()
}

// length is that of a body as Open gives it.
func length(d Store, ref Ref) (int64, error) {
	r, err := d.Open(ref)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	if err != nil {
		err = fmt.Errorf("%s: %w", ref, err)
	}
	return n, err
}
