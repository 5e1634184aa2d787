package faultlog

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// ownReport begins the report of Backsight's ports (device/ports/report.h), behind which the version stands:
//
//	backsight: report 1
//	cfsr: 00008200 hfsr: 40000000 …       registers, as in any report
//	#0 0x00000014                         where the program stood
//	#1 0x00000024                         where calls return to
//	#34 0x00000136 interrupted            frames 2 to 33 are #1 again
//	#35 0x00000210 ?                      found by a search, as are those behind
//	build: b3ebaef2d8865d1c27311d9441ffc06cb06e28be
//	thread: sensor                        and firmware, and uptime in milliseconds
//	backsight: end 0                      an enum bs_stop
//
// A report of a Linux program (device/ports/linux) has more:
//
//	signal: 11 code: 1 address: 0x8       the first two as in siginfo_t; no code: it was sent
//	#0 libfoo.so+0x1234 b3ebaef2 0x7f1234 modules.go
//	task: worker 1234                     another thread, whose frames follow
const ownReport = "backsight: report "

const (
	ownVersion = "1"
	ownEnd     = "backsight: end "
	// noTable is BS_NO_TABLE: the last address is in no code that the device knows.
	noTable = "2"
	// maxIdentity is how much of an identity a report has.
	maxIdentity = 20
	// maxSignal is Linux' last signal, on MIPS.
	maxSignal = 128
	// maxRepeated is how many frames of a recursion are listed again.
	maxRepeated = 128
)

// own is what the report of a port says beside registers.
type own struct {
	version          string // "" for another report
	build            []byte
	firmware, uptime string
	modules          []ownModule
	signal           target.Fault // of a Linux program, else 0
	number           int          // of the last frame
	leftOut          int          // frames of recursions, of which not all are listed
}

// takeOwn takes a line of such a report.
func (w *words) takeOwn(line string, lists *lister) bool {
	o := &w.own
	if _, version, ok := strings.Cut(line, ownReport); ok && o.version == "" {
		o.version = strings.TrimSpace(version)
		return true
	}
	if o.version == "" {
		return false
	}
	if _, text, ok := strings.Cut(line, "#"); ok {
		return o.takeFrame(text, lists)
	}
	if _, stop, ok := strings.Cut(line, ownEnd); ok && strings.TrimSpace(stop) == noTable && lists.some() {
		if listed := lists.chains[0].listed; len(listed) > 1 {
			listed[len(listed)-1].Doubtful = true
		}
	}
	if _, name, ok := strings.Cut(line, "task: "); ok && len(name) <= maxPanic {
		if len(lists.chains) == 0 { // of what failed no frame could be had
			lists.chains = append(lists.chains, named{})
		}
		lists.chains = append(lists.chains, named{name: strings.TrimSpace(name)})
		return true
	}
	if _, text, ok := strings.Cut(line, "signal: "); ok && o.signal.Signal == 0 {
		return o.takeSignal(strings.Fields(text))
	}
	for _, f := range [...]struct {
		name  string
		value *string
	}{{"firmware: ", &o.firmware}, {"uptime: ", &o.uptime}, {"thread: ", &w.thread}} {
		if _, value, ok := strings.Cut(line, f.name); ok && *f.value == "" && len(value) <= maxPanic {
			*f.value = strings.TrimSpace(value)
			return true
		}
	}
	_, build, ok := strings.Cut(line, "build: ")
	if ok {
		o.build, _ = hex.DecodeString(strings.TrimSpace(build[:min(len(build), 2*maxIdentity)]))
	}
	return ok
}

// takeSignal takes "11 code: 1 address: 0x8".
func (o *own) takeSignal(words []string) bool {
	for i := 0; i < len(words); i += 2 {
		v, err := strconv.ParseUint(words[i], 0, 64)
		switch {
		case err != nil || i == 0 && v > maxSignal:
			return false
		case i == 0:
			o.signal.Signal = int(v)
		case words[i-1] == "code:":
			o.signal.Code = int(v)
		case words[i-1] == "address:":
			o.signal.Address, o.signal.HasAddress = v, true
		}
	}
	return o.signal.Signal != 0
}

// takeFrame takes "1 0x00000024 interrupted ?". Numbers that lack are of frames at the same place as the one before.
func (o *own) takeFrame(text string, lists *lister) bool {
	words := strings.Fields(text)
	if len(words) < 2 {
		return false
	}
	n, err := strconv.ParseUint(words[0], 10, 31)
	f, ok := o.takePlace(words[1:])
	if !ok {
		f.PC, ok = phrases.Hex(words[1])
		ok = ok && strings.HasPrefix(words[1], "0x")
	}
	if err != nil || !ok {
		return false
	}
	f.Exact = n == 0
	for _, word := range words[2:] {
		f.Exact = f.Exact || word == "interrupted"
		if word == "?" {
			f.Searched, f.Exact = true, false
		}
	}
	if last, already := lists.last(); already > 0 {
		if last.Exact = false; already == 1 { // a recursion's second frame has another place than its first
			last.Gap = true
		}
		repeated := int(n) - o.number - 1
		for range min(repeated, maxRepeated) {
			lists.add(last)
		}
		f.Gap = repeated > maxRepeated
		o.leftOut += max(0, repeated-maxRepeated)
	}
	o.number = int(n)
	lists.add(f)
	return true
}

// refuses is the issue where the report is of another build than one of the binaries, or of a version that is not known.
func (o *own) refuses(p *firmware.Program) (issue target.Issue, ok bool) {
	if o.version != "" && o.version != ownVersion {
		return target.Issue{Kind: target.IssueCapture, Text: fmt.Sprintf("a report of version %.8q, which is not known; not used", o.version)}, true
	}
	return p.OtherBuild(o.build)
}

// state is what a title says beside the thread.
func (o *own) state() (text string) {
	if o.firmware != "" {
		text += ", firmware " + o.firmware
	}
	if ms, err := strconv.ParseUint(o.uptime, 10, 64); err == nil {
		text += fmt.Sprintf(", %d.%03d s after the start", ms/1000, ms%1000)
	}
	return text
}
