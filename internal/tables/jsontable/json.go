// Package jsontable writes the rules of an image as JSON, for programs that nobody has written
// a form for.
package jsontable

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/visible"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// Format is JSON. It can say everything.
func Format() tables.Format {
	return tables.Format{Name: "json", Short: "functions, rows and rules as JSON", Text: true, Write: write}
}

// document is the whole. Addresses are hexadecimal strings, as in all JSON of Backsight.
type document struct {
	File      string     `json:"file"`
	BuildID   string     `json:"build_id,omitempty"`
	Arch      string     `json:"arch"`
	ABI       string     `json:"abi,omitempty"`
	Endian    string     `json:"endian"`
	Rules     []ruleOf   `json:"rules"`
	Functions []function `json:"functions"`
}

type function struct {
	Name  string `json:"name,omitempty"`
	Start string `json:"start"`
	End   string `json:"end"`
	Mode  int    `json:"mode,omitempty"`
	// Rows are pairs of an address and the index of a rule, null where nothing is known.
	Rows [][2]any `json:"rows"`
}

// ruleOf is a rule. A register that the rule does not mention keeps its value if the ABI preserves
// the register.
type ruleOf struct {
	Source      string           `json:"source"`
	CFA         *value           `json:"cfa,omitempty"`
	RA          *value           `json:"ra"`
	Regs        map[string]value `json:"regs,omitempty"`
	SignalFrame bool             `json:"signal_frame,omitempty"`
	SignedRA    bool             `json:"signed_ra,omitempty"`
}

// value is how one value is recovered: base + offset, or the word in memory there.
type value struct {
	Kind   string `json:"kind"`             // value, memory, undefined, same, expression, memory-expression
	Base   string `json:"base,omitempty"`   // cfa or a register
	Offset int64  `json:"offset,omitempty"` // bytes
	Add    int64  `json:"add,omitempty"`    // added to the word in memory
	Expr   string `json:"dwarf,omitempty"`  // hexadecimal
}

func write(w io.Writer, p *tables.Program) ([]tables.Refusal, error) {
	a := p.Image.Arch
	d := document{File: p.Image.Path, BuildID: hex.EncodeToString(p.Image.BuildID), Arch: a.Name, ABI: a.ABI, Endian: "little"}
	if a.BigEndian {
		d.Endian = "big"
	}
	for i := range p.Rules {
		d.Rules = append(d.Rules, ruleFrom(a, &p.Rules[i]))
	}
	for i := range p.Functions {
		d.Functions = append(d.Functions, functionFrom(&p.Functions[i]))
	}
	b, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(append(visible.JSON(b), '\n'))
	return nil, err
}

func address(v uint64) string { return fmt.Sprintf("%#x", v) }

func functionFrom(f *tables.Function) function {
	out := function{Name: f.Name, Start: address(f.Start), End: address(f.End), Mode: int(f.Mode), Rows: make([][2]any, len(f.Rows))}
	for i, r := range f.Rows {
		out.Rows[i] = [2]any{address(r.Addr), r.Rule}
		if r.Rule == tables.None {
			out.Rows[i][1] = nil
		}
	}
	return out
}

func ruleFrom(a *cpu.Arch, r *tables.Rule) ruleOf {
	out := ruleOf{Source: r.Source, RA: valueFrom(a, &r.RA),
		SignalFrame: r.Flags&rule.SignalFrame != 0, SignedRA: r.Flags&rule.SignedRA != 0}
	if r.RA.Kind != rule.Undefined {
		out.CFA = valueFrom(a, &r.CFA)
	}
	for i := range r.Regs {
		if out.Regs == nil {
			out.Regs = make(map[string]value)
		}
		out.Regs[a.RegName(r.Regs[i].Reg)] = *valueFrom(a, &r.Regs[i])
	}
	return out
}

// cfa is the name of the CFA as a base.
const cfa = "cfa"

func valueFrom(a *cpu.Arch, r *rule.Register) *value {
	switch r.Kind {
	case rule.Undefined:
		return &value{Kind: "undefined"}
	case rule.AtCFA:
		return &value{Kind: "memory", Base: cfa, Offset: r.Off}
	case rule.CFAPlus:
		return &value{Kind: "value", Base: cfa, Offset: r.Off}
	case rule.AtReg:
		return &value{Kind: "memory", Base: a.RegName(r.Base), Offset: r.Off, Add: r.Add}
	case rule.RegPlus:
		return &value{Kind: "value", Base: a.RegName(r.Base), Offset: r.Off}
	case rule.Constant:
		return &value{Kind: "value", Offset: r.Off}
	case rule.Expression:
		return &value{Kind: "memory-expression", Expr: hex.EncodeToString(r.Expr)}
	case rule.ValExpression:
		return &value{Kind: "expression", Expr: hex.EncodeToString(r.Expr)}
	}
	return &value{Kind: "same"}
}
