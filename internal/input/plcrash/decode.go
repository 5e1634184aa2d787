package plcrash

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/internal/protobuf"
)

// decode reads the message; whole is how many bytes of it were read.
func decode(b []byte) (r report, whole int) {
	r.system.os, r.system.architecture = osUnknown, archUnknown
	r.room = darwin.NewRoom(len(b))
	whole = protobuf.Each(b, func(f protobuf.Field) {
		switch f.Num {
		case 1:
			protobuf.Each(f.Bytes, r.system.field)
		case 2:
			protobuf.Each(f.Bytes, r.app.field)
		case 3:
			if r.room.Threads.Draw(1) {
				t := thread{room: &r.room}
				protobuf.Each(f.Bytes, t.field)
				r.threads = append(r.threads, t)
			}
		case 4:
			if r.room.Binaries.Draw(1) {
				var i binaryImage
				protobuf.Each(f.Bytes, i.field)
				r.images = append(r.images, i)
			}
		case 5:
			r.exception = &exception{room: &r.room}
			protobuf.Each(f.Bytes, r.exception.field)
		case 6:
			protobuf.Each(f.Bytes, r.signal.field)
		case 7:
			r.process = new(processInfo)
			protobuf.Each(f.Bytes, r.process.field)
		case 8:
			r.machine = new(machineInfo)
			protobuf.Each(f.Bytes, r.machine.field)
		case 9:
			r.info = new(reportInfo)
			protobuf.Each(f.Bytes, r.info.field)
		case 10:
			r.custom = f.Text()
		}
	})
	return r, whole
}

func (s *systemInfo) field(f protobuf.Field) {
	f.Into(&s.os, &s.version, &s.architecture, &s.timestamp, &s.build)
}

func (a *applicationInfo) field(f protobuf.Field) {
	f.Into(&a.identifier, &a.version, &a.marketing)
}

func (t *thread) field(f protobuf.Field) {
	f.Into(&t.number, func() { t.frames = addFrame(t.frames, t.room, &f) }, &t.crashed, func() {
		if len(t.registers) < maxRegisters {
			var r register
			protobuf.Each(f.Bytes, r.field)
			t.registers = append(t.registers, r)
		}
	})
}

// maxRegisters bounds the registers of a thread.
const maxRegisters = 256

// addFrame adds a frame, if there is room for one.
func addFrame(frames []stackFrame, room *darwin.Room, f *protobuf.Field) []stackFrame {
	if !room.Frames.Draw(1) {
		return frames
	}
	var s stackFrame
	protobuf.Each(f.Bytes, s.field)
	return append(frames, s)
}

func (s *stackFrame) field(f protobuf.Field) {
	f.Into(nil, nil, &s.pc, nil, nil, func() {
		s.symbol = new(symbol)
		protobuf.Each(f.Bytes, s.symbol.field)
	})
}

func (s *symbol) field(f protobuf.Field) {
	f.Into(&s.name, &s.start, &s.end)
}

func (r *register) field(f protobuf.Field) {
	f.Into(&r.name, &r.value)
}

func (i *binaryImage) field(f protobuf.Field) {
	f.Into(&i.base, &i.size, &i.name, &i.uuid, func() {
		i.code = new(processor)
		protobuf.Each(f.Bytes, i.code.field)
	})
}

func (p *processor) field(f protobuf.Field) {
	f.Into(&p.encoding, &p.typ, &p.subtype)
}

func (e *exception) field(f protobuf.Field) {
	f.Into(&e.name, &e.reason, func() { e.frames = addFrame(e.frames, e.room, &f) })
}

func (s *signal) field(f protobuf.Field) {
	f.Into(&s.name, &s.code, &s.address, func() {
		s.mach = new(machException)
		protobuf.Each(f.Bytes, s.mach.field)
	})
}

func (m *machException) field(f protobuf.Field) {
	f.Into(&m.typ, func() { m.codes = numbers(m.codes, &f) })
}

func (p *processInfo) field(f protobuf.Field) {
	f.Into(&p.name, &p.id, &p.path, &p.parentName, &p.parentID, &p.native, &p.start)
}

func (m *machineInfo) field(f protobuf.Field) {
	f.Into(&m.model, func() { protobuf.Each(f.Bytes, m.processor.field) }, &m.cores, &m.logicals)
}

func (i *reportInfo) field(f protobuf.Field) {
	f.Into(&i.requested, &i.uuid)
}

// numbers appends a repeated number, which may come packed in bytes.
func numbers(list []uint64, f *protobuf.Field) []uint64 {
	const most = 64 // Mach exceptions have two codes
	if f.Bytes == nil && len(list) < most {
		return append(list, f.Value)
	}
	for r := bin.New(f.Bytes, false); r.Len() > 0 && len(list) < most; {
		v := r.ULEB()
		if r.Err() != nil {
			break
		}
		list = append(list, v)
	}
	return list
}
