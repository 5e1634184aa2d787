package decorated

import (
	"strings"
	"testing"
)

// TestName: qualified names as LLVM's undname has them, without types of their own; what is not of the grammar stays as it is.
func TestName(t *testing.T) {
	for decorated, want := range map[string]string{
		"?next@Iterator@list@@QEAAHXZ": "list::Iterator::next",
		"?second@@YAXXZ":               "second",
		"??0Box@ns@@QEAA@XZ":           "ns::Box::Box",
		"??1Box@?A0x1f2e@@QEAA@XZ":     "`anonymous namespace'::Box::~Box",
		"??_GBox@ns@@UEAAPEAXI@Z":      "ns::Box::`scalar deleting destructor'",
		"??2@YAPEAX_K@Z":               "operator new",
		"??HA@@QEAAHH@Z":               "A::operator+",
		"??BA@@QEAAHXZ":                "A::operator int",
		"??__K_deg@@YAHO@Z":            `operator"" _deg`,
		"?f@a@1@YAXXZ":                 "a::a::f",
		"?f@a@1b@2@YAXXZ":              "b::b::a::a::f",
		"??_C@_05CJBACGMB@hello?$AA@":  "`string'",
		"??_7A@ns@@6B@":                "ns::A::`vftable'",
		"??_R1A@?0A@EA@A@@8":           "A::`RTTI Base Class Descriptor'",
		"??_R0?AVA@@@8":                "A `RTTI Type Descriptor'",
		"??_9A@@$BA@AA":                "A::`vcall'",
		"??__Efoo@ns@@YAXXZ":           "`dynamic initializer for 'ns::foo''",
		"??__F?foo@A@@2HA@@YAXXZ":      "`dynamic atexit destructor for 'A::foo''",
	} {
		check(t, decorated, want)
	}
}

// TestTemplates: arguments are types, numbers, functions; a template has names of its own for digits to stand for.
func TestTemplates(t *testing.T) {
	for decorated, want := range map[string]string{
		"?push@?$Stack@PEBDV?$A@H@ns@@@@QEAAXPEBD@Z": "Stack<char const *,ns::A<int> >::push",
		"??0?$Box@PEBD@@QEAA@XZ":                     "Box<char const *>::Box<char const *>",
		"??$?0N@?$Box@H@@QEAA@N@Z":                   "Box<int>::Box<int><double>",
		"??$?BH@A@@QEAAHXZ":                          "A::operator<int> int",
		"??$f@HV?$a@H@@V1@@@YAXXZ":                   "f<int,a<int>,a<int> >",
		"??$f@$$V@@YAXXZ":                            "f<>",
		"?f@?$T@$0A@$0?0$07$0BAA@@@QEAAXXZ":          "T<0,-1,8,256>::f",
		"?f@?$T@$1?g@@YAXXZ@@QEAAXXZ":                "T<&g>::f",
		"?f@?$T@$E?x@ns@@3HB@@QEAAXXZ":               "T<ns::x>::f",
		"?f@?$T@$H?g@A@@QEAAXXZ7@@QEAAXXZ":           "T<{&A::g,8}>::f",
		"?f@?$T@$F7A@@@QEAAXXZ":                      "T<{8,0}>::f",
		"??$f@$MH00@@YAXXZ":                          "f<1>",
		"?f@?$T@W4E@ns@@@@QEAAXXZ":                   "T<ns::E>::f",
		"?f@?$T@UB@ns@@U?$Q@H@2@@@QEAAXXZ":           "T<ns::B,ns::Q<int> >::f",
	} {
		check(t, decorated, want)
	}
}

// TestTypes: as C++ writes them, what is qualified in front.
func TestTypes(t *testing.T) {
	for code, want := range map[string]string{
		"_N": "bool", "_K": "unsigned __int64", "O": "long double", "$$T": "std::nullptr_t", "_U": "char32_t",
		"PEAX": "void *", "PEAPEBD": "char const **", "QEAH": "int *const", "AEBVA@ns@@": "ns::A const &", "$$QEAH": "int &&", "PEIAH": "int *",
		"P6AXHZZ": "void (*)(int,...)", "P6AHPEBD0@Z": "int (*)(char const *,char const *)", "P8A@@EBAHXZ": "int (A::*)(void) const",
		"PEQA@@H": "int A::*", "AEAY02$$CBD": "char const (&)[3]", "$$BY112H": "int[2][3]", "$$A6AXXZ": "void (void)", "$$A8@@HAAXXZ": "void (void) &&",
		"P6A?AUA@@XZ": "A (*)(void)", "PEAP6AHH@Z": "int (**)(int)", "PEBQ6AXXZ": "void (*const const *)(void)", "P6AXX_E": "void (*)(void) noexcept", "$$CBH": "int const", "$$YV@ns@@": "ns::V",
	} {
		check(t, "?f@?$T@"+code+"@@QEAAXXZ", "T<"+want+">::f")
	}
}

// TestLocal: of a name inside a function that function's whole type is read.
func TestLocal(t *testing.T) {
	for inside, want := range map[string]string{
		"?0??main@@YAHXZ":                       "main'::`1'",
		"?1??f@ns@@YAXP6AXH@Z@Z":                "ns::f'::`2'",
		"?BA@??g@A@@UEBA?BHXZ":                  "A::g'::`16'",
		"?@??h@@9":                              "h'::`0'",
		"?0???0A@@QEAA@XZ":                      "A::A'::`1'",
		"?0???BA@@QEAAHXZ":                      "A::operator int'::`1'",
		"?0???__Ex@@YAXXZ":                      "`dynamic initializer for 'x'''::`1'",
		"?0???__E?x@A@@2HA@@YAXXZ":              "`dynamic initializer for 'A::x'''::`1'",
		"?0??f@A@@WBA@EAAXXZ":                   "A::f'::`1'",
		"?0??f@A@@$4PPPPPPPM@A@EAAXXZ":          "A::f'::`1'",
		"?0??x@A@@2PEBDEB":                      "A::x'::`1'",
		"?0??p@@3PEQA@@HEQ1@":                   "p'::`1'",
		"?0???R<lambda_1>@?0??f@@YAXXZ@QEBA@XZ": "`f'::`1'::<lambda_1>::operator()'::`1'",
	} {
		check(t, "??R<lambda_1>@"+inside+"@QEBA@XZ", "`"+want+"::<lambda_1>::operator()")
	}
}

// TestOthers: names that are cut, of other compilers, or of nobody.
func TestOthers(t *testing.T) {
	for _, name := range []string{"", "main", "?", "??", "?f", "?f@@", "?@YAXXZ", "?f@9@@YAXXZ", "??0@YAXXZ", "??_Z@@YAXXZ", "?f@?$T@H", "?f@?$T@Zz@@QEAAXXZ",
		"?f@?$T@$9@@QEAAXXZ", "??$f@P8@@YAXXZ", "?x@?1??f@@YAX", "?x@?1??f@@YAXXZ", "??@a6a285da2eea70dba6b578022be61d81@", "??$\x01@", "?f@\x00@@YAXXZ",
		"?" + strings.Repeat("a@", 1000), "?" + strings.Repeat("?$", 4000), "?f@?$T@" + strings.Repeat("PEA", 2000) + "H@@YAXXZ",
		"?f@?$T@P6AXPEAH" + doubling() + "@Z@@YAXXZ"} {
		check(t, name, name)
	}
}

// doubling is types of functions, each of which has the one before many times.
func doubling() (s string) {
	for i := range maxBack - 1 {
		s += "P6AX" + strings.Repeat(string(rune('0'+i)), 60) + "@Z"
	}
	return s
}

func check(t *testing.T, decorated, want string) {
	t.Helper()
	if got := Name(decorated); got != want {
		t.Errorf("%.60s: %.80q, want %.80q", decorated, got, want)
	}
}

// FuzzName: whatever the name is, a name comes, and not much more than it has.
func FuzzName(f *testing.F) {
	for _, name := range []string{"??1Box@?A0x1f2e@@QEAA@XZ", "?f@a@1b@2@YAXXZ", "??$?BH@A@@QEAAHXZ", "??R<lambda_1>@?0???__E?x@A@@2HA@@YAXXZ@QEBA@XZ",
		"?f@?$T@P8A@@EBAHXZ$H?g@A@@QEAAXXZ7AEAY02$$CBD@@QEAAXXZ", "??_R1A@?0A@EA@A@@8"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got := Name(name); got == "" && name != "" || len(got) > max(len(name), maxText) {
			t.Errorf("%q: %.100q", name, got)
		}
	})
}
