package mcudump

import (
	"bytes"
	"context"
	"encoding/hex"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/input/console"
)

// CrashCatcher is the format of CrashCatcher's binary dumps (github.com/adamgreen/CrashCatcher, include/CrashCatcher.h), of a
// Cortex-M: a signature with a version, flags, R0 to R12, SP, LR, PC, XPSR, MSP, PSP, since version 3 the XPSR of the handler;
// 33 floating-point registers where a flag says so; then the bounds and bytes of each piece of memory.
func CrashCatcher() input.Format {
	return input.Format{Name: "crashcatcher", Sniff: sniffCatcher, Open: opener(readCatcher)}
}

const (
	signature             = "cC"
	catcherHead           = 2 + 2 + 4
	catcherRegs, floats   = 17, 33
	numberMSP             = 17
	flagFloat             = 1
	firstVersion, version = 2, 3
)

func sniffCatcher(head []byte) bool {
	return len(head) > catcherHead && bytes.HasPrefix(head, []byte(signature)) && head[2] >= firstVersion && head[2] <= version && head[3] == 0 &&
		head[4]&^flagFloat == 0 && head[5]|head[6]|head[7] == 0
}

// readCatcher reads a dump as far as it is whole. The exception number in the handler's XPSR is not the one of the registers, which are those
// at the fault.
func readCatcher(data []byte) (d dump) {
	d.set = "Thumb2"
	in := bin.New(data, false)
	in.Skip(2)
	v := in.U8()
	in.Skip(1)
	flags := in.U32()
	for i := range uint64(catcherRegs) {
		d.regs = append(d.regs, register{i, uint64(in.U32())})
	}
	for i := range uint64(2) {
		d.regs = append(d.regs, register{numberMSP + i, uint64(in.U32())})
	}
	if v >= version {
		in.Skip(4)
	}
	if flags&flagFloat != 0 {
		in.Skip(floats * 4)
	}
	if in.Err() != nil {
		return dump{set: d.set, end: in.Offset()}
	}
	for d.end = in.Offset(); in.Len() >= 8 && len(d.pieces) < maxPieces; d.end = in.Offset() {
		lo, hi := uint64(in.U32()), uint64(in.U32())
		if hi <= lo {
			break
		}
		b := in.Bytes(min(hi-lo, uint64(in.Len())))
		d.pieces = append(d.pieces, piece{lo, b})
		if uint64(len(b)) < hi-lo {
			break
		}
	}
	return d
}

// CatcherText knows such dumps as text in a log: 16 bytes in hexadecimal in each line.
//
//	CRASH ENCOUNTERED
//	63430300000000000000000001000000
//	…
//	End of dump
func CatcherText() console.Reader {
	return console.Reader{Name: "CrashCatcher", Read: readText, Signs: console.Phrases(signatureText+"0200", signatureText+"0300"), Beside: true}
}

// signatureText is the signature in hexadecimal, which stands behind spaces at most.
const signatureText, maxPrefix = "6343", 16

// maxSkipped is how many lines of others may stand between two of a dump; maxText bounds a dump in bytes.
const maxSkipped, maxText = 16, 16 << 20

func readText(ctx context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
	line := log.Line(at)
	if !strings.Contains(line[:min(len(line), maxPrefix)], signatureText) {
		return nil, at + 1
	}
	data := hexLine(line)
	if !sniffCatcher(data) {
		return nil, at + 1
	}
	next := at + 1
	for i := next; i < log.Len() && i-next <= maxSkipped && len(data) < maxText; i++ {
		line := log.Line(i)
		if strings.Contains(line, "End of dump") {
			next = i + 1
			break
		}
		if b := hexLine(line); b != nil {
			data, next = append(data, b...), i+1
		}
	}
	d := readCatcher(data)
	if len(d.regs) == 0 {
		return nil, at + 1
	}
	snap, why := d.snapshot(ctx, env)
	if why != "" {
		return console.Refused("crash dump", why), next
	}
	if d.end < len(data) {
		snap.Issues = append(snap.Issues, d.damaged("a crash dump"))
	}
	return console.Whole(snap), next
}

// hexLine is what a line has in hexadecimal, nil where the line is anything else.
func hexLine(line string) []byte {
	const most = 64
	line = strings.TrimSpace(line)
	if len(line) == 0 || len(line) > most {
		return nil
	}
	b, err := hex.DecodeString(line)
	if err != nil {
		return nil
	}
	return b
}
