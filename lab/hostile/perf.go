package hostile

import (
	"bytes"
	"slices"
)

// Events of perf.data (include/uapi/linux/perf_event.h, tools/lib/perf/include/perf/event.h), and of a sample the fields IP, TID, TIME;
// CALLCHAIN, or REGS_USER and STACK_USER.
const (
	perfMmap, perfComm, perfFork, perfSample         = 1, 3, 7, 9
	perfAttr, perfBuildID, perfRound, perfCompressed = 64, 67, 68, 81
	perfPlace, perfChain                             = 1 | 1<<1 | 1<<2, 1 << 5
	perfEverMore                                     = 1<<64 - 1
)

// recordingCases are recordings of perf whose events cost more than they take in the file.
func recordingCases() []Case {
	return []Case{
		{"tasks", "a recording of processes that fork, with a sample each", 150_000, recordingOf(perfPlace, forked)},
		{"unknown", "a recording of samples of more processes than there are", 300_000, recordingOf(perfPlace, unknown)},
		{"maps", "a recording of mappings that alternate with samples", 60_000, recordingOf(perfPlace, alternate)},
		{"backwards", "a recording of mappings, each below the one before", 100_000, recordingOf(perfPlace, backwards)},
		{"children", "a recording of a process with many mappings, whose children have a sample each", 30_000, recordingOf(perfPlace, zygote)},
		{"names", "a recording of threads of one process, with a name each", 400_000, recordingOf(perfPlace, comms)},
		{"tail", "a recording of samples, the first of which is the last", 200_000, recordingOf(perfPlace, tail)},
		{"turns", "a recording of rounds without an event", 1_000_000, recordingOf(perfPlace, emptyRounds)},
		{"chains", "a recording of samples of a thousand calls, half of which say that they have 2⁶⁰", 1_300, recordingOf(perfPlace|perfChain, chains)},
		{"ids", "a recording of builds", 200_000, recordingOf(perfPlace, builds)},
		{"packed", "a recording of packed events that hold another million each", 10_000, recordingOf(perfPlace, bombs)},
		{"attributes", "a recording whose attributes share their identifiers", 1_000_000, sharedIDs},
		{"sections", "a recording whose sections lie over one another, to the end of the numbers", 1_000_000, overSections},
	}
}

// perfEvent appends an event, its body as long as it is.
func perfEvent(b []byte, kind, misc uint64, body ...[]byte) []byte {
	size := 8
	for _, part := range body {
		size += len(part)
	}
	b = words(words(b, 4, kind), 2, misc, uint64(size))
	return append(b, bytes.Join(body, nil)...)
}

// perfLayout is perf_event_attr of x86-64 programs, with times in all events.
func perfLayout(fields uint64) []byte {
	return append(words(nil, 8, 112<<32, 0, 0, fields, 0, 1<<18, 0, 0, 0, 0, 0xff0fff), make([]byte, 24)...)
}

// recordingOf is a recording through a pipe: which fields samples have, and n times what events adds.
func recordingOf(fields uint64, events func(b []byte, i, n int) []byte) func(int) map[string][]byte {
	return func(n int) map[string][]byte {
		b := words([]byte("PERFILE2"), 8, 16)
		b = perfEvent(b, perfAttr, 0, perfLayout(fields))
		b = perfTaken(perfMapped(b, 1, 0x1000, 1), 1, 1)
		for i := range n {
			b = events(b, i, n)
		}
		return map[string][]byte{capture: b}
	}
}

// perfTimed is what stands behind an event that is no sample: process and thread, time.
func perfTimed(time uint64) []byte { return words(words(nil, 4, 0, 0), 8, time) }

// perfTaken appends a sample of a process.
func perfTaken(b []byte, pid, time uint64) []byte {
	return perfEvent(b, perfSample, 2, words(words(words(nil, 8, text), 4, pid, pid), 8, time))
}

func perfMapped(b []byte, pid, addr, time uint64) []byte {
	return perfEvent(b, perfMmap, 2, words(nil, 4, pid, pid), words(nil, 8, addr, 0x1000, 0), []byte("/none\x00\x00\x00"), perfTimed(time))
}

func perfForked(b []byte, pid, from, time uint64) []byte {
	return perfEvent(b, perfFork, 0, words(nil, 4, pid, from, pid, from), words(nil, 8, time), perfTimed(time))
}

func forked(b []byte, i, _ int) []byte {
	at := uint64(i + 2)
	return perfTaken(perfMapped(perfForked(b, at, at-1, at), at, 0x1000*at, at), at, at)
}

func unknown(b []byte, i, _ int) []byte { return perfTaken(b, uint64(i+2), uint64(i+2)) }

func alternate(b []byte, i, _ int) []byte {
	at := uint64(i + 2)
	return perfTaken(perfMapped(b, 1, 0x2000*at, at), 1, at)
}

func backwards(b []byte, i, _ int) []byte {
	return perfMapped(b, 1, 0x2000*(1<<30-uint64(i)), uint64(i+2))
}

func zygote(b []byte, i, _ int) []byte {
	const many = 2000
	at := uint64(i + 2)
	if i < many {
		return perfMapped(b, 1, 0x2000*at, at)
	}
	return perfTaken(perfForked(b, at, 1, at), at, at)
}

func comms(b []byte, i, _ int) []byte {
	return perfEvent(b, perfComm, 0, words(nil, 4, 1, uint64(i)), []byte("worker\x00\x00"), perfTimed(uint64(i+2)))
}

func tail(b []byte, i, n int) []byte {
	if i == 0 {
		b = perfTaken(b, 1, perfEverMore)
	}
	return perfTaken(perfEvent(b, perfRound, 0), uint64(1+i%1000), uint64(n-i))
}

func emptyRounds(b []byte, _, _ int) []byte { return perfEvent(b, perfRound, 0) }

func chains(b []byte, i, _ int) []byte {
	calls := make([]byte, 0, 8*1000)
	for k := range uint64(1000) {
		calls = words(calls, 8, text+uint64(i)*8000+8*k)
	}
	return perfEvent(b, perfSample, 2, words(words(words(nil, 8, text), 4, 1, 1), 8, uint64(i+2), 1000|uint64(i)%2<<60), calls)
}

func builds(b []byte, i, _ int) []byte {
	return perfEvent(b, perfBuildID, 0, words(nil, 4, uint64(i)), make([]byte, 24), words(nil, 4, uint64(i)|0x01010101), make([]byte, 4))
}

// bombs appends an event with blocks of zstd that are a repeated byte each (RFC 8878, 3.1.1.2): no end of events of no known kind.
func bombs(b []byte, i, _ int) []byte {
	const largest, blocks = 128 << 10, 8
	var frame []byte
	if i == 0 {
		frame = append(words(nil, 4, 0xfd2fb528), 0, 0x58) // a window of 2 MB
	}
	const rle = 1 << 1
	for range blocks {
		head := words(nil, 4, rle|largest<<3)[:3]
		frame = append(append(frame, head...), 0x10)
	}
	return perfEvent(b, perfCompressed, 0, frame)
}

// perfFile is a recording with the sections of attributes and of events that its header states.
func perfFile(attributes, data [2]uint64, features uint64, rest []byte) map[string][]byte {
	const attr = 112 + 16
	b := words([]byte("PERFILE2"), 8, 104, attr, attributes[0], attributes[1], data[0], data[1], 0, 0, features, 0, 0, 0)
	return map[string][]byte{capture: append(b, rest...)}
}

// sharedIDs is a recording of a thousand attributes with the same n identifiers.
func sharedIDs(n int) map[string][]byte {
	const many = 1000
	one := append(perfLayout(perfPlace), words(nil, 8, 104+128*many, 8*uint64(n))...)
	events := perfTaken(nil, 1, 1)
	at := uint64(104 + 128*many + 8*n)
	rest := append(slices.Repeat(one, many), make([]byte, 8*n)...)
	return perfFile([2]uint64{104, 128 * many}, [2]uint64{at, uint64(len(events))}, 0, append(rest, events...))
}

// overSections is a recording whose features are sections from anywhere to the last number.
func overSections(n int) map[string][]byte {
	attr := append(perfLayout(perfPlace), words(nil, 8, 0, perfEverMore)...)
	events := perfTaken(nil, 1, 1)
	rest := append(attr, events...)
	for range 64 {
		rest = words(rest, 8, 104, perfEverMore)
	}
	rest = append(rest, bytes.Repeat(words(nil, 4, 67, 48<<16), n)...)
	return perfFile([2]uint64{104, 128}, [2]uint64{104 + 128, uint64(len(events))}, perfEverMore, rest)
}
