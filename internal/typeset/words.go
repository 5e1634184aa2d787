package typeset

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// FrameName is function+offset or module+offset of where the frame resumes.
func FrameName(f *report.Frame) string {
	switch {
	case f.Function != "" && (f.NoEntry || !f.HasAddress() && f.PC == f.FunctionAt()):
		return f.Function // the capture says that it runs, not where
	case f.Function != "":
		return f.Function + Offset(f.PC-f.FunctionAt())
	case f.Module != nil && f.Module.Stated == target.StatedAddresses:
		return OrUnknown(ModuleName(f.Module))
	case f.Module != nil:
		return OrUnknown(ModuleName(f.Module)) + Offset(f.PC-f.Module.Lo)
	}
	return "?"
}

// Offset is a distance in bytes, +0x10.
func Offset(n uint64) string { return "+" + string(AppendHex(nil, n, 1)) }

// OrUnknown is a name, "?" for none.
func OrUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// AppendPlace appends a file and a line, and before in front of them; nothing where no file is known.
func AppendPlace(dst []byte, before, file, dir string, line int) []byte {
	if file == "" {
		return dst
	}
	dst = AppendText(append(dst, before...), ShortFile(file, dir))
	if line == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, ':'), int64(line), 10)
}

// ModuleName is the last part of a module's path.
func ModuleName(m *target.Module) string {
	if m == nil || m.Name == "" {
		return ""
	}
	return m.Base()
}

// ShortFile is the file's path as the compiler was told it, as far as it lies
// below the directory in which the compiler ran.
func ShortFile(file, dir string) string {
	if dir == "" {
		return file
	}
	return strings.TrimPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}

// Numbered is the frame with a number, but for the CFA of one that the list leaves out.
func Numbered(th *report.Thread, n int) *report.Frame {
	i, _ := th.Repeats.Index(n)
	return &th.Frames[i]
}

// OrDash is a word, "-" for none.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
