// Package perfdata reads the recordings of Linux' perf record: registers and a copy of the stack of each sample, the calls
// that the kernel found itself, and which files the programs had mapped.
//
//	file header, attributes: which fields a sample has
//	data     events ─► in the order of their times ─► processes: names, mappings
//	                                              └─► samples, some of one process each ─► target.Snapshot
//	features build IDs of the files, the processor's name
//
// A recording through a pipe has no file header's sections: attributes and features are events there.
//
// Specifications: Linux' tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h,
// arch/*/include/uapi/asm/perf_regs.h, tools/lib/perf/include/perf/event.h.
package perfdata

import (
	"context"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/cpu/unknown"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "perf.data", Sniff: sniff, Open: open}
}

// magic are the first bytes as a little-endian and as a big-endian machine write them.
const little, big = "PERFILE2", "2ELIFREP"

func sniff(head []byte) bool {
	return len(head) >= pipeHeader && (string(head[:8]) == little || string(head[:8]) == big)
}

// recording is a file that is read.
type recording struct {
	name  string
	big   bool
	attrs attributes
	// machine is the processor's name as uname has it, "" unknown; arch, once it is known, the processor. unknown is the one of samples without
	// registers where the recording does not say: perf before Linux 4.14 does not say that through a pipe (HEADER_ARCH).
	machine       string
	arch, unknown *cpu.Arch
	release       string
	ids           map[string][]byte // build IDs by the file's name
	names         []string          // of the events, in the order of attrs
	files         map[string]*functions
	issues        []target.Issue
	begin         uint64    // the time of the first sample
	regs          registers // of the last
	// cut: a part behind the events is not whole. directory: the recording is one (perf record --threads, --kcore), which may have events
	// in further files.
	cut, directory bool
}

// Headers: of a pipe, magic and size; of a file the sections of attributes, data and event types, and the features behind
// these.
const pipeHeader, fileHeader, featureBits = 16, 104, 256

func open(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
	r := &recording{name: c.Name, big: string(c.Head[:8]) == big, ids: map[string][]byte{}, unknown: unknown.Arch(8)}
	in := bin.New(c.Head, r.big)
	in.Skip(8)
	var files []*events
	if in.U64() == pipeHeader {
		files = append(files, pipeEvents(r, c.Stream()))
	} else {
		all, broken := c.Bytes(ctx)
		if len(all) < fileHeader {
			return nil, r.errorf(int64(len(all)), "a recording of perf that ends within its header")
		}
		data := r.header(all)
		if broken != nil {
			r.issue("%v", broken)
		} else if data.size > uint64(len(all))-min(data.off, uint64(len(all))) {
			r.issue("the recording is cut short: of %d bytes of events %d are there", data.size, uint64(len(all))-min(data.off, uint64(len(all))))
		} else if r.cut {
			r.issue("the recording is cut short behind its events: what it says of the machine and of build IDs is missing")
		}
		files = append(files, fileEvents(r, all, data))
	}
	for _, o := range c.Others {
		all, err := o.Bytes(ctx)
		if err != nil {
			return nil, err
		}
		files = append(files, fileEvents(r, all, section{0, uint64(len(all))}))
	}
	for _, e := range files {
		e.most = max(maxWaiting/len(files), leastWaiting)
	}
	s := newStream(r, env, files...)
	if err := s.first(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// issue notes what is wrong with the recording.
func (r *recording) issue(format string, args ...any) {
	r.issues = append(r.issues, target.Issue{Kind: target.IssueCapture, Subject: r.name, Text: r.name + ": " + fmt.Sprintf(format, args...)})
}

func (r *recording) errorf(off int64, format string, args ...any) error {
	return &input.Error{Path: r.name, Offset: off, Reason: fmt.Sprintf(format, args...)}
}
