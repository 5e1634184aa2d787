package symbol

import (
	"strings"
	"testing"
)

// TestUndecorated: qualified names as LLVM's undname has them, without types; what is not read stays as it is.
func TestUndecorated(t *testing.T) {
	for decorated, want := range map[string]string{
		"?next@Iterator@list@@QEAAHXZ":   "list::Iterator::next",
		"?big@Box@ns@@QEAAHH@Z":          "ns::Box::big",
		"?second@@YAXXZ":                 "second",
		"??0Box@ns@@QEAA@XZ":             "ns::Box::Box",
		"??1Box@?A0x1f2e@@QEAA@XZ":       "`anonymous namespace'::Box::~Box",
		"??_GBox@ns@@UEAAPEAXI@Z":        "ns::Box::`scalar deleting destructor'",
		"??2@YAPEAX_K@Z":                 "operator new",
		"??HA@@QEAAHH@Z":                 "A::operator+",
		"?f@a@1@YAXXZ":                   "a::a::f",
		"?f@a@1b@2@YAXXZ":                "b::b::a::a::f",
		"?f@?$T@H@@QEAAXXZ":              "",
		"?x@?1??f@@YAXXZ@4HA":            "",
		"??BA@@QEAAHXZ":                  "",
		"??0@YAXXZ":                      "",
		"?f@9@@YAXXZ":                    "",
		"?@YAXXZ":                        "",
		"?f@@":                           "",
		"?f":                             "",
		"?":                              "",
		"??":                             "",
		"?" + strings.Repeat("a@", 1000): "",
	} {
		if want == "" {
			want = decorated
		}
		if got := demangled(decorated); got != want {
			t.Errorf("%.40s: %.60q, want %.60q", decorated, got, want)
		}
	}
}

// FuzzUndecorated: whatever the name is.
func FuzzUndecorated(f *testing.F) {
	f.Add("??1Box@?A0x1f2e@@QEAA@XZ")
	f.Add("?f@a@1b@2@YAXXZ")
	f.Fuzz(func(t *testing.T, name string) {
		if got := demangled(name); name != "" && got == "" {
			t.Errorf("%q has no name", name)
		}
	})
}
