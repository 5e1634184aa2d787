package backsight

import (
	"fmt"

	"github.com/backsight/backsight/target"
)

// hold keeps the binaries of a snapshot open until release is called: other goroutines may close the program's Files
// meanwhile. The error names a binary that was closed before; there is nothing to release then.
func hold(snap *target.Snapshot) (release func(), err error) {
	if len(snap.Modules) == 0 {
		return func() {}, nil
	}
	held := 0
	release = func() {
		for _, m := range snap.Modules[:held] {
			if m.Image != nil {
				_ = m.Image.Files.Release() // of mappings, which cannot fail
			}
		}
	}
	for ; held < len(snap.Modules); held++ {
		if m := snap.Modules[held]; m.Image != nil {
			if err := m.Image.Files.Hold(); err != nil {
				release()
				return func() {}, fmt.Errorf("%s: %w", m.Image.Path, err)
			}
		}
	}
	return release, nil
}

// unread is the issue of a file that cannot be read any more.
func unread(err error) []target.Issue {
	if err == nil {
		return nil
	}
	return []target.Issue{{Kind: target.IssueImage, Text: err.Error()}}
}
