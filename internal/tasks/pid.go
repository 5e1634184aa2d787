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
