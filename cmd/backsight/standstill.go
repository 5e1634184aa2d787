package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/backsight/backsight/internal/gcore"
)

// standstill is how long looks at a process have stopped it.
type standstill struct {
	pid, times, threads int // threads at most
	longest             time.Duration
}

// add counts a look.
func (s *standstill) add(core *gcore.Core) {
	s.times++
	s.threads, s.longest = max(s.threads, len(core.Threads)), max(s.longest, core.Stopped)
}

// String is a line for people.
func (s *standstill) String() string {
	often := ""
	if s.times > 1 {
		often = fmt.Sprintf("%d times, at most ", s.times)
	}
	return fmt.Sprintf("%s stood still %sfor %.1f ms, %d threads", processName(s.pid), often, s.longest.Seconds()*1000, s.threads)
}

// stoppedBy counts a look at a process.
func (p *processes) stoppedBy(pid int, core *gcore.Core) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.stops, func(s standstill) bool { return s.pid == pid })
	if i < 0 {
		i = len(p.stops)
		p.stops = append(p.stops, standstill{pid: pid})
	}
	p.stops[i].add(core)
}

// sayStops tells how long each process stood still; one that stands until its backtraces are made, its user knows of.
func (p *processes) sayStops(say func(string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.stops {
		if !p.freeze {
			say(p.stops[i].String())
		}
	}
}
