package groups

import (
	"path"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/internal/signature"
	"github.com/backsight/backsight/internal/visible"
	"github.com/backsight/backsight/report"
)

// Keys are what leads to a crash's group.
type Keys struct {
	// Own is the crash's own: "exact:…", else "none:…" with what happened in which program.
	Own string
	// Group is that of its group, where that is not known by Own: "stable:…", else Own.
	Group string
	// Title is the group's, for people.
	Title string
}

// Bounds of what a report may bring into the tables, in bytes and entries. A device may have written the report itself.
const (
	maxText   = 300
	maxChain  = signature.ExactDepth
	maxHashes = 64
	keyDigits = 16
)

// Of are the keys of a report by rules.
func Of(r *jsonreport.Report, rules *Rules) (Keys, *jsonreport.Signature) {
	t := r.Named()
	if t == nil || !isKey(t.Own.Signature.Exact) {
		return unsigned(r, t), nil
	}
	s := bounded(t.Own.Signature)
	return rules.keys(s), s
}

// unsigned are the keys of a crash without a frame that is sure enough: what happened to which program.
func unsigned(r *jsonreport.Report, t *jsonreport.Thread) Keys {
	what := r.Crash.Type
	if t != nil && t.Own.Signature.Class != "" {
		what = t.Own.Signature.Class
	}
	if what == "" {
		what = "stopped"
	}
	in := ""
	if m := r.Main; m != nil && *m >= 0 && *m < len(r.Modules) {
		in = " in " + path.Base(r.Modules[*m].Name)
	}
	what = line(what + in)
	return Keys{Own: "none:" + what, Group: "none:" + what, Title: what + " (no frame is sure enough)"}
}

// keys are those of a signature that has an exact key.
func (r *Rules) keys(s *jsonreport.Signature) Keys {
	k := Keys{Own: "exact:" + s.Exact, Group: "exact:" + s.Exact, Title: s.Title}
	stable := s.Stable
	if left := r.Left(s.Frames); len(left) < len(s.Frames) {
		before, _ := strings.CutSuffix(s.Title, signature.Place(signedFrames(s.Frames)))
		k.Title = before + signature.Place(signedFrames(left))
		if !strings.Contains(s.Class, report.CrashStackOverflow) { // a recursion is named by all of its functions
			happened, _, _ := strings.Cut(s.Class, " ")
			stable = signature.Stable(happened, signedFrames(left))
		}
	}
	if isKey(stable) {
		k.Group = "stable:" + stable
	}
	return k
}

// isKey tells whether a text is a key of docs/signatures.md.
func isKey(s string) bool {
	_, err := strconv.ParseUint(s, 16, 64)
	return len(s) == keyDigits && err == nil
}

// bounded is a signature with no more than a right one has.
func bounded(s *jsonreport.Signature) *jsonreport.Signature {
	out := *s
	out.Class, out.Title = line(s.Class), line(s.Title)
	out.Frames = append([]jsonreport.Signed(nil), s.Frames[:min(len(s.Frames), maxChain)]...)
	for i := range out.Frames {
		f := &out.Frames[i]
		for _, text := range []*string{&f.Module, &f.Build, &f.Function, &f.Start, &f.Offset, &f.Import, &f.Print} {
			*text = line(*text)
		}
		for _, list := range []*jsonreport.Hashes{&f.Named, &f.Members, &f.Before} {
			*list = (*list)[:min(len(*list), maxHashes)]
		}
	}
	return &out
}

// line is a text in one line, cut to maxText bytes, with nothing in it that reorders or hides.
func line(s string) string {
	if len(s) > maxText {
		s = s[:maxText-len("…")] + "…"
	}
	return visible.Line(strings.ToValidUTF8(s, "?"))
}

// signedFrames are functions of a report as the definition of keys takes them.
func signedFrames(chain []jsonreport.Signed) []report.SignedFrame {
	out := make([]report.SignedFrame, len(chain))
	for i := range chain {
		f := &chain[i]
		out[i] = report.SignedFrame{Index: f.Frame, Module: f.Module, Build: f.Build, Function: f.Function, Start: number(f.Start), Inside: f.Inside,
			Offset: number(f.Offset), Import: f.Import, Print: uint32(hexadecimal(f.Print)), Named: f.Named, Members: f.Members, Before: f.Before,
			Known: f.Known, Sure: f.Sure}
	}
	return out
}

func number(s string) uint64 { return hexadecimal(strings.TrimPrefix(s, "0x")) }

// hexadecimal is the value of digits, 0 for none.
func hexadecimal(digits string) uint64 {
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0
	}
	return v
}
