//go:build !small

package symbol

import (
	"github.com/backsight/backsight/internal/die"
)

// supplement is the debug information that an image's refers to, in another file.
type supplement struct {
	sought bool
	found  *die.Supplement // nil: there is none
}

// dies are the entries of a unit and those that they refer to.
func (u unitReader) dies() die.Info {
	return die.Info{Data: u.data, Supplement: u.d.supplement, Types: u.typeUnit}
}

// supplement opens the supplementary file when an entry first refers there. Its units are held to
// the same bounds as those of any file.
func (d *debugInfo) supplement() *die.Supplement {
	if d.shared.sought {
		return d.shared.found
	}
	d.shared.sought = true
	section, ok := d.img.Debug.Supplement()
	if !ok {
		return nil
	}
	s := newDebugInfo(d.img, uint64(len(section(".debug_info"))), section)
	if data := s.parseAll(); data != nil {
		d.shared.found = &die.Supplement{Data: data, Str: s.str}
	}
	if d.issue == "" {
		d.issue = s.issue
	}
	return d.shared.found
}
