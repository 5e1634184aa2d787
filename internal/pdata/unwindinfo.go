package pdata

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// UnwindInfo is what x64 says of a frame.
type UnwindInfo struct {
	Version  uint8
	Prologue uint8 // bytes
	// FrameReg is the number of the register that holds the stack pointer, as it was after the fixed allocation, plus FrameOff;
	// 0 for none.
	FrameReg uint8
	FrameOff int64
	// Codes are 16 bits each: offset in the prologue, operation, operand; the last of the prologue first.
	Codes []byte
	// Chained: the function goes on in Parent, whose codes hold as well.
	Chained bool
	Parent  Parent
	// Handler is the function that handles exceptions, 0 for none; it counts from the file's base.
	Handler uint32
	// OK: the bytes are in the file.
	OK bool
}

// Parent is the entry of which another is a part.
type Parent struct {
	begin uint32
	Info  uint32
}

// UnwindInfoAt reads UNWIND_INFO at a place that counts from the file's base.
func UnwindInfoAt(img *image.Image, rva uint32) (u UnwindInfo) {
	const handlers, chained = 3, 4 // UNW_FLAG_EHANDLER and UNW_FLAG_UHANDLER, UNW_FLAG_CHAININFO
	r := bin.New(img.Segments.Bytes(img.Table(image.RuntimeFunctions).Base+uint64(rva)), false)
	head, prologue, count, frame := r.U8(), r.U8(), r.U8(), r.U8()
	u.Version, u.Prologue = head&7, prologue
	u.FrameReg, u.FrameOff = frame&15, int64(frame>>4)*16
	u.Codes = r.Bytes(uint64(count) * 2)
	r.Skip(uint64(count&1) * 2)
	if u.Chained = head>>3&chained != 0; u.Chained {
		u.Parent.begin = r.U32()
		r.Skip(4)
		u.Parent.Info = r.U32()
	}
	u.OK = r.Err() == nil
	if !u.Chained && head>>3&handlers != 0 {
		u.Handler = r.U32()
	}
	u.Chained = u.Chained && u.OK
	return u
}
