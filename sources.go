package backsight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/stackwalk"
)

// Source is a way to find a caller, an stackwalk.RuleSource or an stackwalk.FrameSource, with the
// name that --sources and reports use.
type Source struct {
	Name string
	stackwalk.Source
}

// SelectSources picks default sources by name, in the order of the names. The error
// names one that does not exist.
func SelectSources(names ...string) ([]Source, error) {
	all := DefaultSources()
	chosen := make([]Source, 0, len(names))
	for _, n := range names {
		i := slices.IndexFunc(all, func(s Source) bool { return s.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("no unwind source %q; there are %s", n, strings.Join(SourceNames(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// SourceNames are the names of DefaultSources, in their order.
func SourceNames() []string {
	var names []string
	for _, s := range DefaultSources() {
		names = append(names, s.Name)
	}
	return names
}
