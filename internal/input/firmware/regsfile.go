package firmware

import (
	"bytes"
	"io"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/regtext"
)

// maxRegsFile bounds in bytes a file of registers: what a debugger prints of them is a few
// thousand.
const maxRegsFile = 1 << 20

// ReadRegisters reads the registers of the file that the user named, as GDB's "info
// registers", OpenOCD's "reg" or J-Link's "regs" prints them; none where the user named no
// file. The error is an *input.Error.
func ReadRegisters(env *input.Env) ([]regtext.Value, error) {
	if env.Regs == "" {
		return nil, nil
	}
	f, err := env.Files.Disk().Open(env.Regs)
	if err != nil {
		return nil, &input.Error{Path: env.Regs, Offset: -1, Reason: "cannot be opened", Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRegsFile))
	if err != nil {
		return nil, &input.Error{Path: env.Regs, Offset: -1, Reason: "cannot be read", Err: err}
	}
	vocabulary := regtext.NewVocabulary(env.Archs)
	var vals []regtext.Value
	for line := range bytes.Lines(text) {
		vals = vocabulary.Line(vals, string(bytes.TrimRight(line, "\r\n")))
	}
	if len(vals) == 0 {
		return nil, &input.Error{Path: env.Regs, Offset: 0, Reason: "no registers in it"}
	}
	return vals, nil
}
