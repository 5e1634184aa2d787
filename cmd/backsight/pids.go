package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pidValue is a flag for processes: IDs or names, between commas or repeated.
type pidValue struct {
	list *[]int
	one  bool // of one process only
}

func (p *pidValue) String() string { return "" }
func (p *pidValue) Type() string   { return "string" }

func (p *pidValue) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		if pid, err := strconv.Atoi(word); err == nil && pid >= 0 { // 0 is the idle threads of a recording
			*p.list = append(*p.list, pid)
			continue
		}
		named := processesNamed(word)
		if len(named) == 0 {
			return errors.New("no process has this ID or name")
		}
		*p.list = append(*p.list, named...)
	}
	if p.one && len(*p.list) > 1 {
		return fmt.Errorf("%d processes: %v", len(*p.list), *p.list)
	}
	return nil
}

// processesNamed are the processes that run a program of this name, but for this one. Linux keeps 15 bytes of the name; the program's
// file has it all.
func processesNamed(name string) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		comm, _ := os.ReadFile(dir + "/comm")
		exe, _ := os.Readlink(dir + "/exe")
		if err == nil && name != "" && pid != os.Getpid() && (strings.TrimSuffix(string(comm), "\n") == name || exe == name || filepath.Base(exe) == name) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
