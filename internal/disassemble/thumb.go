package disassemble

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"golang.org/x/arch/arm/armasm"
)

// itState is the conditions that an IT instruction gives to up to four instructions behind itself.
// The condition of the next instruction is in bits 7 to 4, as in EPSR.IT (ARM DDI 0403E.e §A7.3.2).
type itState uint8

func (s itState) inside() bool { return s&15 != 0 }

// condition is the suffix of the next instruction, "" outside an IT block.
func (s itState) condition() string {
	if !s.inside() {
		return ""
	}
	return conditions[s>>4]
}

func (s itState) advance() itState {
	if s&7 == 0 {
		return 0
	}
	return s&0xe0 | s<<1&0x1f
}

var conditions = [16]string{"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "", ""}

// thumbText is one instruction of T32, and the state for the next one.
func thumbText(arch *cpu.Arch, code []byte, pc uint64, it itState) (string, itState) {
	order := bin.Order(arch.BigEndian)
	half := uint32(order.U16(code))
	if half>>11 < 0x1d {
		if half>>8 == 0xbf && half&15 != 0 {
			return itText(half), itState(half)
		}
		return thumbWord{arch, half, pc, it}.text(thumb16[:]), it.advance()
	}
	if len(code) < 4 {
		return "", 0
	}
	w := thumbWord{arch, half<<16 | uint32(order.U16(code[2:])), pc, it}
	switch {
	case w.isFloat():
		return w.float(), it.advance()
	case w.word>>24 == 0xf9 && w.word>>20&1 == 0:
		return withCondition(w.neonTransfer(), it.condition()), it.advance()
	}
	return w.text(thumb32[:]), it.advance()
}

// itText is an IT instruction: "itte ne" makes two instructions depend on ne and one on eq.
func itText(half uint32) string {
	name, first := "it", half>>4&1
	for mask := half & 15; mask&7 != 0; mask = mask << 1 & 15 {
		name += [2]string{"e", "t"}[b2i(mask>>3 == first)]
	}
	condition := conditions[half>>4&15]
	if condition == "" {
		condition = "al"
	}
	return name + " " + condition
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// thumbWord is an instruction of T32: 16 bits, or 32 with the first halfword above.
type thumbWord struct {
	arch *cpu.Arch
	word uint32
	pc   uint64
	it   itState
}

// isFloat: the instruction is one of coprocessors 10 and 11.
func (w thumbWord) isFloat() bool {
	return w.word>>24 >= 0xec && w.word>>24 <= 0xee && w.word>>9&7 == 5
}

// float is a floating-point instruction. T32 encodes these like A32 with the condition "always".
func (w thumbWord) float() string {
	insn, err := decodedARM(w.word)
	if err != nil {
		return w.text(thumbVector[:])
	}
	return withCondition(armasm.GNUSyntax(insn), w.it.condition())
}

// withCondition puts a condition behind an instruction's name, in front of ".w" and ".f32".
func withCondition(text, condition string) string {
	if text == "" {
		return ""
	}
	name, operands, _ := strings.Cut(text, " ")
	if i := strings.IndexByte(name, '.'); i >= 0 {
		return strings.TrimSpace(name[:i] + condition + name[i:] + " " + operands)
	}
	return strings.TrimSpace(name + condition + " " + operands)
}

// text is the instruction by the first form that matches, "" where there is none.
func (w thumbWord) text(codings []coding) string {
	form, _ := formOf(codings, w.word)
	if form == "" {
		return ""
	}
	return w.write(form)
}

// filled is a form whose fields, in braces, are replaced by the values that field gives for their
// names.
func filled(form string, field func(string) string) string {
	var b strings.Builder
	for form != "" {
		literal, rest, _ := strings.Cut(form, "{")
		b.WriteString(literal)
		var name string
		if name, form, _ = strings.Cut(rest, "}"); name != "" {
			b.WriteString(field(name))
		}
	}
	return b.String()
}

// write fills a form in, and adds suffixes.
func (w thumbWord) write(form string) string {
	name, operands, _ := strings.Cut(filled(form, w.field), " ")
	name = strings.Replace(name, "*", [2]string{"s", ""}[b2i(w.it.inside())], 1)
	name = strings.Replace(name, "!", [2]string{"", "s"}[w.word>>20&1], 1)
	condition := w.it.condition()
	if strings.HasPrefix(form, "b{cond}") {
		condition = ""
	}
	return withCondition(name+" "+operands, condition)
}

func (w thumbWord) reg(n uint32) string { return w.arch.RegName(cpu.Reg(n & 15)) }

// field writes what a form names: a register, "BITS@SHIFT[*SCALE][+ADDEND]", a number, which
// behind "+" is an offset, left out where it is zero, or one of the names in operand.
func (w thumbWord) field(name string) string {
	if name[0] == '+' {
		if n := w.number(name[1:]); n != 0 {
			return fmt.Sprintf(", #%d", n)
		}
		return ""
	}
	if strings.Contains(name, "@") {
		return fmt.Sprint(w.number(name))
	}
	if i := strings.Index("ntdmeDM", name); i >= 0 && len(name) == 1 {
		return w.register(name[0])
	}
	return w.operand(name)
}

// register is the register in a field: n, t, d and m stand for a manual's Rn, Rt, Rd and Rm; e is
// the register in bits 10 to 8 of a 16-bit instruction, D and M are registers of four bits.
func (w thumbWord) register(field byte) string {
	v := w.word
	wide := v>>16 != 0
	switch {
	case wide && field == 'n':
		return w.reg(v >> 16)
	case wide && field == 't':
		return w.reg(v >> 12)
	case wide && field == 'd' || field == 'e' && !wide:
		return w.reg(v >> 8 & [2]uint32{15, 7}[b2i(!wide)])
	case wide:
		return w.reg(v)
	case field == 'D':
		return w.reg(v>>4&8 | v&7)
	case field == 'M':
		return w.reg(v >> 3)
	case field == 'n':
		return w.reg(v >> 3 & 7)
	case field == 'm':
		return w.reg(v >> 6 & 7)
	}
	return w.reg(v & 7)
}

// number is the value of a field "BITS@SHIFT*SCALE+ADDEND".
func (w thumbWord) number(field string) uint32 {
	field, addend, _ := strings.Cut(field, "+")
	field, scale, _ := strings.Cut(field, "*")
	width, shift, _ := strings.Cut(field, "@")
	value := w.word >> decimal(shift, 0) & (1<<decimal(width, 0) - 1)
	return value*decimal(scale, 1) + decimal(addend, 0)
}

// decimal is a number that a form states, otherwise where the form states none.
func decimal(s string, otherwise uint32) uint32 {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return otherwise
	}
	return uint32(n)
}

// list is the registers of a set, as in {r4, r5, pc}.
func (w thumbWord) list() string {
	set := w.word & 0xffff
	if w.word>>16 == 0 {
		if set = w.word & 0xff; w.word>>9 == 0x5a || w.word>>9 == 0x5e { // push has lr, pop pc
			set |= w.word >> 8 & 1 << [2]uint{14, 15}[w.word>>11&1]
		}
	}
	var names []string
	for ; set != 0; set &= set - 1 {
		names = append(names, w.reg(uint32(bits.TrailingZeros32(set))))
	}
	return "{" + strings.Join(names, ", ") + "}"
}
