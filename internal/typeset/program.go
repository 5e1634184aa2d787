package typeset

import (
	"path"
	"strings"

	"github.com/backsight/backsight/target"
)

// maxComm is how much of a program's name Linux keeps (TASK_COMM_LEN, without the zero).
const maxComm = 15

// ProgramName is the name of the program that was captured, "" where nobody knows.
func ProgramName(s *target.Snapshot) string {
	name, _, _ := strings.Cut(s.Command, " ")
	if i := MainModule(s); i >= 0 {
		name = s.Modules[i].Name
	}
	if name == "" {
		return ""
	}
	return path.Base(name)
}

// MainModule is the index of the program's own binary among the modules: the one that the
// command names, or the only one that is linked to its place; -1 where neither tells.
func MainModule(s *target.Snapshot) int {
	word, _, _ := strings.Cut(s.Command, " ")
	if word != "" {
		want := path.Base(word)
		for i, m := range s.Modules {
			if name := ModuleName(m); name == want || len(want) == maxComm && strings.HasPrefix(name, want) {
				return i
			}
		}
	}
	found := -1
	for i, m := range s.Modules {
		if m.Image == nil || m.Image.Relocatable {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}
