// Package procfs reads what Linux tells of a process as text below /proc/PID (proc(5)).
package procfs

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mapping is a line of /proc/PID/maps: from Lo to before Hi, of the file Name from Off on. Perms are as printed, "r-xp"; Name is ""
// for memory of no file, and Inode 0.
type Mapping struct {
	Lo, Hi, Off uint64
	Perms, Name string
	Inode       uint64
}

// Exec tells whether code of the mapping may run.
func (m *Mapping) Exec() bool { return strings.Contains(m.Perms, "x") }

// ParseMapping reads a line; ok is false for what is none:
//
//	7f5ccf516000-7f5ccf66b000 r-xp 00026000 fe:00 326269   /usr/lib/libc.so.6
func ParseMapping(line string) (m Mapping, ok bool) {
	var fields [5]string
	rest := line
	for i := range fields {
		fields[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	lo, hi, dash := strings.Cut(fields[0], "-")
	var errs [4]error
	m.Lo, errs[0] = strconv.ParseUint(lo, 16, 64)
	m.Hi, errs[1] = strconv.ParseUint(hi, 16, 64)
	m.Off, errs[2] = strconv.ParseUint(fields[2], 16, 64)
	m.Inode, errs[3] = strconv.ParseUint(strings.TrimSpace(fields[4]), 10, 64)
	m.Perms, m.Name = fields[1], strings.TrimSpace(rest)
	return m, dash && errs == [4]error{} && m.Lo < m.Hi
}

// Maps are the mappings of a process, whose folder dir is: /proc/self.
func Maps(dir string) (list []Mapping, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "maps"))
	for line := range bytes.Lines(data) {
		if m, ok := ParseMapping(string(line)); ok {
			list = append(list, m)
		}
	}
	return list, err
}

// maxMaps bounds the text of mappings of a process, and maxMappings their number: Linux allows 65,530 (vm.max_map_count), databases ask
// for a few hundred thousand.
const maxMaps, maxMappings = 16 << 20, 1 << 18

// ReadMaps are the mappings of a process of another machine, whose files file reads, limit bytes at most.
func ReadMaps(file func(path string, limit int) ([]byte, error), pid int) (list []Mapping, err error) {
	text, err := file("/proc/"+strconv.Itoa(pid)+"/maps", maxMaps)
	for line := range strings.Lines(string(text)) {
		if m, ok := ParseMapping(line); ok && len(list) < maxMappings {
			list = append(list, m)
		}
	}
	return list, err
}

// Living is the folder of a process, which dir is, or of another of its threads where the first has ended: that one's shows neither
// program, memory, root nor files that are mapped. Linux has a folder for each thread beside those of processes, and does not list
// it (proc(5), /proc/TID); those below task have no map_files.
func Living(dir string) string {
	if _, err := os.Readlink(dir + "/exe"); err == nil || os.IsPermission(err) {
		return dir
	}
	tasks, _ := filepath.Glob(dir + "/task/*")
	for _, task := range tasks {
		thread := filepath.Join(filepath.Dir(dir), filepath.Base(task))
		if _, err := os.Readlink(thread + "/exe"); err == nil {
			return thread
		}
	}
	return dir
}

// ThreadNames are the names of a process's threads, by ID.
func ThreadNames(dir string) map[int]string {
	return threadNames(dir, filepath.Base)
}

// InnerNames are the same by the IDs that the threads themselves know, and that the kernel's dumps have: in a container, which is a
// namespace of processes, they begin with 1.
func InnerNames(dir string) map[int]string {
	return threadNames(dir, func(task string) string {
		status, _ := os.ReadFile(task + "/status")
		for line := range strings.Lines(string(status)) { // NSpid:	4711	1
			if ids := strings.Fields(line); len(ids) > 1 && ids[0] == "NSpid:" {
				return ids[len(ids)-1]
			}
		}
		return filepath.Base(task) // before Linux 4.1
	})
}

func threadNames(dir string, id func(task string) string) map[int]string {
	list := map[int]string{}
	tasks, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
	for _, task := range tasks {
		name, _ := os.ReadFile(task + "/comm")
		tid, _ := strconv.Atoi(id(task))
		list[tid] = strings.TrimRight(string(name), "\n")
	}
	return list
}
