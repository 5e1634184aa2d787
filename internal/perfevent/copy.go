//go:build linux

package perfevent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/backsight/backsight/internal/procfs"
	"golang.org/x/sys/unix"
)

// Events that perf writes itself, and those of the kernel that are made for what ran before.
const (
	eventMmap, eventMmap2, eventComm    = 1, 10, 3
	eventAttr, eventRound, eventFeature = 64, 68, 80
	userMode, mmapBuildID               = 2, 1 << 14
	featureRelease, featureArch         = 4, 6
	featureEvents                       = 12
	idSize                              = 24 // of what all events tell behind their own: process and thread, time, processor
)

// interval is how often buffers of a size are emptied: when they may be half full. A processor has as many samples in a second of
// running time as the options say, whichever thread runs.
func (o *Options) interval(size int) time.Duration {
	const besides = 512 // of a sample: its registers and what else is told
	samples := size / (o.Stack + besides)
	return min(max(time.Second*time.Duration(samples)/time.Duration(2*o.Frequency), time.Millisecond), time.Second/4)
}

// Copy writes the recording until the process has ended or ctx has.
func (r *Recorder) Copy(ctx context.Context, w io.Writer) error {
	if _, err := w.Write(r.before); err != nil {
		return err
	}
	r.before = nil
	least := ringPages // a ring may have fewer pages; where all threads have ended, there is none
	for i := range r.rings {
		least = min(least, len(r.rings[i].memory)/os.Getpagesize()-1)
	}
	tick := time.NewTicker(r.opt.interval(least * os.Getpagesize()))
	defer tick.Stop()
	var events []byte
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-r.ended:
			over = true
		case <-tick.C:
			over = r.ended == nil && hasEnded(r.pid)
		}
		events = events[:0]
		for i := range r.rings {
			events = r.rings[i].take(events)
		}
		events = appendEvent(events, eventRound, 0, nil)
		if _, err := w.Write(events); err != nil {
			return err
		}
	}
	return nil
}

// hasEnded tells whether a process has ended, be it that nobody has waited for it yet: its last thread is a zombie (proc(5)).
func hasEnded(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat") // 4321 (netd) S 1 …
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	if !strings.HasPrefix(state, "Z") {
		return false
	}
	tasks, _ := os.ReadDir(dir + "/task")
	return len(tasks) <= 1
}

// head is what stands in front of the kernel's events. It tells of the process as it is now: a command has not begun to run.
func (r *Recorder) head() []byte {
	b := binary.NativeEndian.AppendUint64([]byte("PERFILE2"), 16)
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		copy(b, "2ELIFREP")
	}
	attr := unsafe.Slice((*byte)(unsafe.Pointer(&r.attr)), unsafe.Sizeof(r.attr))
	b = appendEvent(b, eventAttr, 0, attr)
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		b = appendFeature(b, featureArch, appendText(nil, unix.ByteSliceToString(name.Machine[:])))
		b = appendFeature(b, featureRelease, appendText(nil, unix.ByteSliceToString(name.Release[:])))
	}
	b = appendFeature(b, featureEvents, r.events(attr))
	b = r.appendProcess(b)
	if r.opt.Kernel {
		b = appendKernel(b)
	}
	return b
}

// appendKernel appends where the kernel's code lies, if that may be known: as a mapping of process -1 whose name ends with a symbol,
// and whose offset is that symbol's address.
func appendKernel(b []byte) []byte {
	symbols, _ := os.ReadFile("/proc/kallsyms")
	at := map[string]uint64{}
	for line := range bytes.Lines(symbols) { // ffffffff81000000 T _text
		f := strings.Fields(string(line))
		if len(f) >= 3 && (f[2] == "_text" || f[2] == "_etext") {
			at[f[2]], _ = strconv.ParseUint(f[0], 16, 64)
		}
	}
	lo, hi := at["_text"], at["_etext"]
	if lo >= hi {
		return b
	}
	body := binary.NativeEndian.AppendUint64(nil, 1<<32-1)
	for _, v := range [...]uint64{lo, hi - lo, lo} {
		body = binary.NativeEndian.AppendUint64(body, v)
	}
	body = append(body, "[kernel.kallsyms]_text\x00"...)
	return appendEvent(b, eventMmap, 1, append(body, make([]byte, -len(body)&7+idSize)...))
}

// appendEvent appends an event, its body filled up to eight bytes.
func appendEvent(b []byte, kind uint32, misc uint16, body []byte) []byte {
	size := (len(body) + 7) &^ 7
	b = binary.NativeEndian.AppendUint32(b, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(size+8))
	return append(append(b, body...), make([]byte, size-len(body))...)
}

func appendFeature(b []byte, number uint64, says []byte) []byte {
	return appendEvent(b, eventFeature, 0, append(binary.NativeEndian.AppendUint64(nil, number), says...))
}

// appendText appends a text with its length, filled up to 64 bytes as perf does.
func appendText(b []byte, text string) []byte {
	size := (len(text) + 64) &^ 63
	b = binary.NativeEndian.AppendUint32(b, uint32(size))
	return append(append(b, text...), make([]byte, size-len(text))...)
}

// events is the list of the events that are recorded: how many, of each the attribute, how many IDs it has, and the name.
func (r *Recorder) events(attr []byte) []byte {
	name := "cpu-clock"
	if !r.opt.Kernel {
		name += ":u"
	}
	b := binary.NativeEndian.AppendUint32(nil, 1)
	b = append(binary.NativeEndian.AppendUint32(b, uint32(len(attr))), attr...)
	return appendText(binary.NativeEndian.AppendUint32(b, 0), name)
}

// appendProcess appends the names of the process's threads and its mappings of code, which it had before it was recorded.
func (r *Recorder) appendProcess(b []byte) []byte {
	dir := "/proc/" + strconv.Itoa(r.pid)
	for tid, name := range procfs.ThreadNames(dir) {
		b = r.appendKernels(b, eventComm, userMode, tid, nil, name)
	}
	live := procfs.Living(dir)
	maps, _ := procfs.Maps(live)
	memory, err := os.Open(live + "/mem")
	if err == nil {
		defer memory.Close()
	}
	for i := range maps {
		if m := &maps[i]; m.Exec() {
			b = r.appendMapping(b, m, buildIDOf(memory, maps[:i+1]))
		}
	}
	return b
}

// appendMapping appends a mapping of code: by the build ID of its file, nil where that is not known.
func (r *Recorder) appendMapping(b []byte, m *procfs.Mapping, id []byte) []byte {
	body, misc := make([]byte, 0, 64), uint16(userMode)
	for _, v := range [...]uint64{m.Lo, m.Hi - m.Lo, m.Off} {
		body = binary.NativeEndian.AppendUint64(body, v)
	}
	if id != nil {
		misc |= mmapBuildID
		body = append(append(body, uint8(len(id)), 0, 0, 0), id...)
		body = append(body, make([]byte, sha1-len(id))...)
	} else {
		for _, v := range [...]uint64{0, m.Inode, 0} {
			body = binary.NativeEndian.AppendUint64(body, v)
		}
	}
	body = binary.NativeEndian.AppendUint32(body, unix.PROT_READ|unix.PROT_EXEC)
	return r.appendKernels(b, eventMmap2, misc, r.pid, binary.NativeEndian.AppendUint32(body, unix.MAP_PRIVATE), cmp.Or(m.Name, "//anon"))
}

// appendKernels appends an event as the kernel makes it: process, thread, what it says, a name, and the fields of all events, with the
// time 0.
func (r *Recorder) appendKernels(b []byte, kind uint32, misc uint16, tid int, says []byte, name string) []byte {
	body := binary.NativeEndian.AppendUint32(nil, uint32(r.pid))
	body = binary.NativeEndian.AppendUint32(body, uint32(tid))
	body = append(append(body, says...), name+"\x00"...)
	body = append(body, make([]byte, -len(body)&7+idSize)...)
	return appendEvent(b, kind, misc, body)
}
