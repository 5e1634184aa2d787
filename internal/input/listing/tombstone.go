package listing

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/protobuf"
	"github.com/backsight/backsight/target"
)

// Tombstone is Android's tombstone as a protobuf message, since Android 12. Schema: system/core/debuggerd/proto/tombstone.proto.
//
//	registers, list, memory near registers of each thread; mappings with build IDs; signal, causes, abort message
func Tombstone() input.Format {
	return input.Format{Name: "tombstone", Sniff: sniffTombstone, Open: openTombstone}
}

// abis are the values of the schema's enum Architecture.
var abis = [...]string{"arm", "arm64", "x86", "x86_64", "riscv64"}

// sniffTombstone tells a message by its first fields: the processor, which is left out for ARM, and the build's fingerprint,
// "google/bluejay/bluejay:16/BP3A.250905.014/13873947:user/release-keys".
func sniffTombstone(head []byte) bool {
	if len(head) > 2 && head[0] == 1<<3 && int(head[1]) < len(abis) {
		head = head[2:]
	}
	if len(head) < 2 || head[0] != 2<<3|2 {
		return false
	}
	r := bin.New(head[1:], false)
	fingerprint := r.Bytes(r.ULEB())
	return r.Err() == nil && bytes.Count(fingerprint, []byte("/")) >= 3 && bytes.Contains(fingerprint, []byte(":")) &&
		!bytes.ContainsFunc(fingerprint, func(c rune) bool { return c < ' ' || c > '~' })
}

// maxTombstone bounds a tombstone in bytes: 400 threads take 2 MB.
const maxTombstone = 256 << 20

func openTombstone(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
	data, broken := c.Bytes(ctx)
	if data == nil {
		return nil, broken
	}
	if len(data) > maxTombstone {
		return nil, &input.Error{Path: c.Name, Offset: maxTombstone, Reason: "a tombstone of more than 256 MB"}
	}
	d := decoder{record: record{maker: "Android", pid: -1}, room: newRoom(len(data) / perFrame)}
	whole := protobuf.Each(data, d.field)
	d.order()
	r := &d.record
	if len(r.threads) == 0 {
		return nil, &input.Error{Path: c.Name, Offset: int64(whole), Reason: "a tombstone without a thread"}
	}
	b := newBinaries(ctx, r, env)
	snap := &target.Snapshot{
		Arch: b.arch, OS: r.system(), Command: r.command, PID: max(r.pid, 0), Time: d.time, Memory: new(target.Builder).Memory(b.arch),
		Modules: b.space.Modules, Fault: r.target(), CodeMask: r.codeMask(b.arch), Issues: b.issues,
	}
	for i, t := range r.threads {
		th := b.thread(r, t)
		th.ID, th.Name, th.Crashed = t.id, t.title, i == 0
		snap.Threads = append(snap.Threads, th)
	}
	if snap.Fault != nil {
		snap.Fault.Thread = r.threads[0].id
	}
	if whole < len(data) || broken != nil {
		snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Subject: c.Name,
			Text: fmt.Sprintf("%s: offset %#x: the tombstone is damaged here; what stands before is used", c.Name, whole)})
	}
	return input.One(snap), nil
}

// decoder reads the message.
type decoder struct {
	record
	room room
	time string
	tid  int
}

func (d *decoder) field(f protobuf.Field) {
	switch f.Num {
	case 1:
		d.abi = abis[min(f.Value, uint64(len(abis)-1))]
	case 4:
		d.time = f.Text()
	case 5:
		d.pid = int(uint32(f.Value))
	case 6:
		d.tid = int(uint32(f.Value))
	case 9:
		d.command = strings.TrimSpace(d.command + " " + strings.ToValidUTF8(f.Text(), ""))
	case 10:
		protobuf.Each(f.Bytes, d.signal)
	case 14:
		if len(f.Bytes) > 0 {
			d.fault.say("Abort message: " + f.Text())
		}
	case 15:
		protobuf.Each(f.Bytes, func(f protobuf.Field) {
			f.Into(func() { d.fault.say("Cause: " + f.Text()) })
		})
	case 16:
		protobuf.Each(f.Bytes, func(f protobuf.Field) { f.Into(nil, func() { d.thread(f.Bytes) }) })
	case 17:
		d.mapping(f.Bytes)
	}
}

func (d *decoder) signal(f protobuf.Field) {
	s := &d.fault
	var number uint64
	f.Into(&number, &s.signal, func() { s.code = int(int32(f.Value)) }, nil, nil, nil, nil, &s.known, &s.addr)
	if f.Num == 1 {
		s.number = int(int32(number))
	}
}

func (d *decoder) thread(b []byte) {
	if !d.room.threads.Draw(1) {
		return
	}
	t := new(thread)
	d.threads = append(d.threads, t)
	protobuf.Each(b, func(f protobuf.Field) {
		switch f.Num {
		case 1:
			t.id = int(int32(f.Value))
		case 2:
			t.title = strings.ToValidUTF8(f.Text(), "")
		case 3:
			var v regtext.Value
			protobuf.Each(f.Bytes, func(f protobuf.Field) { f.Into(&v.Name, &v.Value) })
			if len(t.regs) < maxRegisters {
				t.regs = append(t.regs, v)
			}
		case 4:
			if d.room.frames.Draw(1) {
				t.frames = append(t.frames, frameOf(f.Bytes, len(t.frames)))
			}
		case 5:
			var m dump
			protobuf.Each(f.Bytes, func(f protobuf.Field) { f.Into(nil, nil, &m.addr, &m.data) })
			if d.room.rows.Draw(1) {
				t.dumps = append(t.dumps, m)
			}
		}
	})
}

// frameOf reads a frame of a list.
func frameOf(b []byte, number int) Frame {
	f := Frame{Maker: "Android", Number: number, HasOffset: true, how: within}
	protobuf.Each(b, func(v protobuf.Field) {
		v.Into(&f.Offset, &f.Addr, nil, &f.Function, &f.FuncOffset, &f.Module, &f.FileOffset, func() { f.BuildID, _ = hex.DecodeString(v.Text()) })
	})
	f.HasFuncOffset = f.Function != ""
	f.Module = known(f.Module)
	return f
}

func (d *decoder) mapping(b []byte) {
	if !d.room.maps.Draw(1) {
		return
	}
	var m mapping
	protobuf.Each(b, func(f protobuf.Field) {
		f.Into(&m.lo, &m.hi, &m.off, nil, nil, &m.exec, &m.name, func() { m.buildID, _ = hex.DecodeString(f.Text()) })
	})
	if m.lo < m.hi {
		d.maps = append(d.maps, m)
	}
}

// order puts the thread that the signal hit first.
func (d *decoder) order() {
	for i, t := range d.threads {
		if t.id == d.tid {
			copy(d.threads[1:i+1], d.threads[:i])
			d.threads[0] = t
		}
	}
}
