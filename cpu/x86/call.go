package x86

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// CallBefore implements cpu.Decoder: E8 rel32, or FF /2 in two to seven bytes,
// each with the prefixes that occur. Far calls are left out.
//
// The bytes in front of a return address can read as both. Then the direct
// reading wins if it stays within reach. A direct call's displacement ends in
// the bytes of the indirect one: FF D0 (call *%rax) would be 0xd0ffxxxx, FF 10
// (call *(%rax)) 0x10ffxxxx, further away than any image is long, so two-byte
// forms are told apart. FF 50 00 (call *0(%rax)) would be 0x0050ffxx, which in a
// large library is a displacement like any other. Of 1.31 million calls in glibc,
// OpenSSL, node and LLVM 117 read as both, and the rule fails for one of them,
// which is data among code.
func (d decoder) CallBefore(before []byte, ra uint64, _ cpu.Mode) (cpu.CallSite, bool) {
	n := d.indirectBefore(before)
	if len(before) >= 5 && before[len(before)-5] == 0xe8 {
		rel := int32(binary.LittleEndian.Uint32(before[len(before)-4:]))
		if n == 0 || -reach < rel && rel < reach {
			target := ra + uint64(rel)
			if !d.long {
				target &= 0xffff_ffff
			}
			size := d.prefixed(before, 5)
			return cpu.CallSite{Addr: ra - uint64(size), Target: target, Direct: true}, true
		}
	}
	return cpu.CallSite{Addr: ra - uint64(n)}, n != 0
}

// reach bounds how far a direct call goes when an indirect one explains the
// bytes too.
const reach = 1 << 27

// indirectBefore returns the length of the FF /2 that ends before, 0 if none.
func (d decoder) indirectBefore(before []byte) int {
	for n := 2; n <= 7 && n <= len(before); n++ {
		code := before[len(before)-n:]
		if code[0] == 0xff && code[1]>>3&7 == 2 && operandLen(code) == n-1 {
			return d.prefixed(before, n)
		}
	}
	return 0
}

// operandLen counts the bytes of ModRM, SIB and displacement behind the opcode
// code[0], which ends with code.
func operandLen(code []byte) int {
	size := int(operandSize[code[1]])
	if code[1]&0xc7 == 4 && len(code) > 2 && code[2]&7 == 5 {
		size += 4
	}
	return size
}

// prefixed adds to the length n of a call the prefixes that toolchains put in
// front of one: notrack (3e), segments, addr32 (67: linkers pad a relaxed
// call *f@GOTPCREL(%rip) with it), REX of the registers that an indirect call
// reads, and 66 48 of the TLS sequences. The last byte of the instruction in
// front may look like one; such an Addr is a byte too low.
func (d decoder) prefixed(before []byte, n int) int {
	for range 4 {
		if len(before) <= n {
			break
		}
		at := len(before) - n
		switch c := before[at-1]; {
		case c == 0x67, c == 0x3e, c == 0x2e, c == 0x64, c == 0x65:
		case d.long && c >= 0x41 && c <= 0x43 && before[at] == 0xff:
		case d.long && c == 0x48 && at > 1 && before[at-2] == 0x66:
			n++
		default:
			return n
		}
		n++
	}
	return n
}

// suspect is how many bytes around an undefined instruction are likely to be data as
// well: tables and strings hold one all few dozens of bytes, code none.
const suspect = 128

// Calls implements cpu.Decoder. Calls to the next instruction read the PC and
// are left out.
func (d decoder) Calls(code []byte, pc uint64, _ cpu.Mode, dst []cpu.CallRef) []cpu.CallRef {
	var end [window]byte
	in := *d.fresh()
	garbage := -suspect - 1 // the last undefined one
	for at := 0; at < len(code); {
		b := &end
		if len(code)-at >= window {
			b = (*[window]byte)(code[at : at+window : at+window])
		} else {
			end = [window]byte{}
			copy(end[:], code[at:])
		}
		in.b = b
		e, length := in.parse(b)
		if e == undefined {
			if at-garbage > suspect {
				doubt(dst, pc+uint64(at))
			}
			garbage = at
			at++
			continue
		}
		at += int(length)
		if e != call || at > len(code) {
			continue
		}
		if rel := in.relZ(); rel != 0 {
			next := pc + uint64(at)
			dst = append(dst, cpu.CallRef{Site: next - uint64(length), Target: in.target(next, rel), Doubt: at-garbage <= suspect})
		}
	}
	return dst
}

// doubt marks the calls right before a place.
func doubt(refs []cpu.CallRef, at uint64) {
	for i := len(refs) - 1; i >= 0 && at-refs[i].Site <= suspect; i-- {
		refs[i].Doubt = true
	}
}
