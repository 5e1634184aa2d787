package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// unused says which files and processors the user named that a snapshot has no use for: a typing error would go unseen.
func (s *session) unused(snap *target.Snapshot) (issues []target.Issue) {
	say := func(format string, args ...any) {
		issues = append(issues, target.Issue{Kind: target.IssueCapture, Text: fmt.Sprintf(format, args...)})
	}
	for _, name := range s.opt.files.images {
		path := input.ParseNamedImage(name).Path
		if !slices.ContainsFunc(snap.Modules, func(m *target.Module) bool { return m.Image != nil && m.Image.Path == path }) {
			say("--image %s is not used: the capture says itself what is mapped", name)
		}
	}
	if raw, err := s.opt.files.raw.parse(s.files.Archs()); err == nil && raw != nil && raw.Name != snap.Arch.Name {
		say("--arch %s is not used: the capture is of %s", s.opt.files.raw.arch, snap.Arch.Name)
	}
	return issues
}

// addressed finds files named with an address that is no number: FILE is there, FILE@ADDR is not.
func addressed(flag string, values []string) error {
	for _, v := range values {
		path, addr, found := strings.Cut(v, "@")
		if !found || input.ParseNamedImage(v).Placed || exists(v) || !exists(path) {
			continue
		}
		return fmt.Errorf("%s %q: %q is no address", flag, v, addr)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
