package tasks

// maxPID is PID_MAX_LIMIT.
const maxPID = 4 << 20

// findPID finds task_struct.pid: a number that is 0 for the first task and differs between
// all others, and before tgid, which is the same for the leaders of their groups. kthreadd
// is the second process in every kernel.
func (f *finder) findPID() {
	leaders := f.found[:f.leaders]
	for d := range f.distances(span{-before, 0, 4}, []string{"pid"}) {
		if f.arePIDs(leaders, d) {
			f.pid = field{d, true}
			return
		}
	}
}

func (f *finder) arePIDs(leaders []uint64, d distance) bool {
	seen := make(map[uint64]bool, len(leaders))
	for i, t := range leaders {
		pid, ok := f.Memory.Uint(at(t, d), 4)
		tgid, ok2 := f.Memory.Uint(at(t, d+4), 4)
		if !ok || !ok2 || pid != tgid || seen[pid] || pid >= maxPID || (pid == 0) != (i == 0) {
			return false
		}
		if i > 0 && i <= 4 && pid != 2 && f.comm(t) == "kthreadd" {
			return false
		}
		seen[pid] = true
	}
	return len(leaders) > 1
}

// findOnCPU finds task_struct.on_cpu, one of the first fields behind stack: 1 for as many
// tasks as there are processors at most, and for one at least, 0 for all others. Kernels for
// one processor have no such field.
func (f *finder) findOnCPU() {
	if !f.stack.known || len(f.found) < 3 {
		return
	}
	const usageFlagsPtrace, reach = 12, 64
	most := f.CPUs
	if most == 0 {
		most = max(1, len(f.found)/4)
	}
	near := span{f.stack.at + distance(f.word) + usageFlagsPtrace, f.stack.at + reach, 4}
	for d := range f.distances(near, []string{"on_cpu"}) {
		if running := f.flagged(d); running > 0 && running <= most {
			f.onCPU = field{d, true}
			return
		}
	}
}

// flagged counts the tasks whose word at a distance is 1; negative where a word is neither 0
// nor 1.
func (f *finder) flagged(d distance) (n int) {
	for _, t := range f.found {
		v, ok := f.Memory.Uint(at(t, d), 4)
		if !ok || v > 1 {
			return -1
		}
		n += int(v)
	}
	return n
}
