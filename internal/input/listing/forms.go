package listing

// form is a way in which a maker writes a frame in one line. Of the forms that fit a line the first counts.
type form struct {
	maker string
	pattern
	// how what the line says is meant.
	meaning
	// starts are the bytes by one of which a line of the form begins; "": any.
	starts string
}

// meaning are properties of a form.
type meaning uint16

const (
	// within: of all frames but the first the address lies within the call, and is not the one behind.
	within meaning = 1 << iota
	// each: so does that of the first.
	each
	// weak: such lines stand in other texts, too. They go on with a list and begin none.
	weak
	// relative: an address is that in the module.
	relative
	// first: such a frame is the first of a list.
	first
	// returns: the first address is one to which a call returns, as the others are.
	returns
	// doubtful: the frame may be none.
	doubtful
	// inlined: the function was inlined into that of the next line.
	inlined
	// wide: an address or an offset has as many digits as those of 64 bits, which no form says of all its frames.
	wide
)

// wideNumber is how many digits those are.
const wideNumber = 16

// letters are those with which names begin.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

// Makers of which more than their forms is said: minidump_stackwalk of Breakpad and rust-minidump, Windows' debuggers.
const breakpad, winDbg = "Breakpad", "WinDbg"

// cygwin writes a file toy.exe.stackdump of a program that crashed, as MSYS2 does (winsup/cygwin/exceptions.cc):
//
//	Exception: STATUS_ACCESS_VIOLATION at rip=001004019DC
//	rax=0000000600020000 rbx=0000000000000000 rcx=00000000FFFFCB38
//	program=C:\cygwin64\home\user\toy.exe, pid 1669, thread main
//	Stack trace:
//	Frame        Function    Args
//	000FFFFCB20  001004019DC (00600020000, 003CC27CE20, 000FFFFFFFF, 000FFFFCB90) toy.exe+0x19DC        the place since 3.5
const cygwin = "Cygwin"

// forms by makers. Sources: Android's debuggerd and libunwindstack (system/core, system/unwinding); OpenHarmony's
// faultloggerd; compiler-rt's sanitizer_stacktrace_printer.cpp; GDB's and LLDB's manuals; systemd's coredump.c; glibc's
// backtracesyms.c; LLVM's Signals.inc; glog's signalhandler.cc; Rust's backtrace/printing; perf-script(1); valgrind's
// m_debuginfo; HotSpot's vmError.cpp and frame.cpp; CPython's traceback.c; LLVM's SymbolizerMarkupFormat; Wine's dbghelp; crash(8); Boost.Stacktrace.
var forms = [...]form{
	{"Android", compile("#%n pc %o %m« (%f+%p)» [%w::%b]"), within | relative, "#"},
	{"OpenHarmony", compile("#%n pc %o %m«(%f+%p)»(%b)"), relative, "#"},
	{"Android", compile("«native: »#%n pc %o %m« (deleted)»« (offset %i)»« (load base %t)»« (%f+%p)»« (BuildId: %b)»"), within | relative, "#n"},
	{"Android", compile("#%n lr %x %m« (%f+%p)»"), within, "#"},
	{"Android", compile("#%n pc %o"), within | relative, "#"},
	{"Java", compile("at %f(«%s:%l»«Native method»)"), weak, "a"},
	{"crash", compile("#%n [%x] %f at %x« [%m]»"), returns, "#"},
	{"crash", compile("[exception RIP: %f+%p]"), weak, "["},
	{"GDB", compile("#%n <signal handler called>"), 0, "#"},
	{"GDB", compile("#%n %x in« %f» («%t») at %s:%l"), 0, "#"},
	{"GDB", compile("#%n %x in %f («%t») from %m"), 0, "#"},
	{"GDB", compile("#%n %x in« %f» () at %m"), 0, "#"},
	{"GDB", compile("#%n %x in %f at %s:%l"), 0, "#"},
	{"sanitizers", compile("#%n %x in %f %s:%l« (%m+%o)»« (BuildId: %b)»"), within | each, "#"},
	{"sanitizers", compile("#%n %x« in %f» (%m+%o)« (BuildId: %b)»"), within | each, "#"},
	{"sanitizers", compile("#%n %f %s:%l (%m+%o)« (BuildId: %b)»"), within | each, "#"},
	{"sanitizers", compile("#%n %f <null> (%m+%o)« (BuildId: %b)»"), within | each, "#"},
	{"GDB", compile("#%n %x in %f («%t»)"), 0, "#"},
	{"sanitizers", compile("#%n %x in %f"), within | each, "#"},
	{"LLVM", compile("#%n %x %f (%m+%o)"), returns, "#"},
	{"LLVM", compile("#%n %x %f %s:%l"), returns, "#"},
	{"systemd", compile("#%n %x %f (%m« + %o»)"), 0, "#"},
	{"elfutils", compile("#%n %x« - 1» %f - %m"), 0, "#"},
	{"Flutter", compile("#%n abs %x virt %o %f+%p"), 0, "#"},
	{"backward", compile(`#%n Object "«%m»", at %x, in« %f»`), within, "#"},
	{"backward", compile(`#%n Source "%s", line %l, in %f [%x]`), within, "#"},
	{"Envoy", compile("#%n:« %f» [%x]"), returns, "#"},
	{"Mozilla", compile("#%n: %f« »[%m +%o]"), within, "#"},
	{"Mozilla", compile("#%n: %f [%s:%l]"), within, "#"},
	{"Mozilla", compile("#%n: %f (%s:%l)"), within, "#"},
	{"BSD", compile("#%n %x at %f+%p"), returns, "#"},
	{"Chromium", compile("#%n %x %m+0x%o"), returns, "#"},
	{"Backsight", compile("#%n %x %f+%p« in %m»« %s:%l»« [%t]»"), returns, "#"},
	{"Chromium", compile("#%n %x« - 1» %f« [%s:%l]»"), returns, "#"},
	{"GDB", compile("#%n %f («%t») at %s:%l"), 0, "#"},
	{"GDB", compile("#%n %f (%t) from %m"), 0, "#"},
	{"LLDB", compile("«* »frame #%n: %x %m`%t [inlined] %f« + %p»« at %s:%l»« [%t]»"), inlined, "f*"},
	{"LLDB", compile("«* »frame #%n: %x %m`%f« + %p»« at %s:%l»« [%t]»"), 0, "f*"},
	{"LLDB", compile("«* »frame #%n: %x« %m»"), 0, "f*"},
	{"PyTorch", compile("frame #%n: <unknown function> + %o (%x in %m)"), returns, "f"},
	{"PyTorch", compile("frame #%n: %f + %p (%x in %m)"), returns, "f"},
	{"glibc", compile("(%f+%p) [%x]"), returns, "("},
	{"glibc", compile("%m(+%o)« »[%x]« (%t)»"), returns, ""},
	{"glibc", compile("%m« »(%f+%p)« »[%x]« (%t)»« %s:%l»"), returns, ""},
	{"glibc", compile("%m(«0x%t»)« »[%x]« (%t)»"), returns, ""},
	{"glibc", compile("[%n] %f (%s:%l)"), weak | returns, "["},
	{"Crystal", compile("[%x] %f +%p« in %m»"), within, "["},
	{"", compile("[%x]"), weak | returns, "["},
	{"MATLAB", compile("[ %n] %x %m+%d« %f+%d»"), within, "["},
	{"glibc", compile("%m« »[%x]"), weak | returns, ""},
	{"glog", compile("@ %x« %d»« (unknown)»« %f»"), returns, "@"},
	{"Rust", compile("%n: %x - %f"), returns, "0123456789"},
	{"Node.js", compile("%n: %x« %f» [%m]"), returns, "0123456789"},
	{"Node.js", compile("%n: %x %f+%p"), returns, "0123456789"},
	{"Node.js", compile("%n: %x"), weak | returns, "0123456789"},
	{javaVM, compile("C [%m+%o]« %f+%p»"), 0, "C"},
	{javaVM, compile("V [%m+%o]« %f+%p»"), 0, "V"},
	{javaVM, compile("C %x"), weak, "C"},
	{javaVM, compile("J %w« c%d» %f (%d bytes) @ %x [%t]"), weak, "J"},
	{javaVM, compile("j %f+%d« %t»"), weak, "j"},
	{javaVM, compile("v ~%f« %x»"), weak, "v"},
	{"Chromium", compile("%f [%x+%p]« (%s:%l)»"), returns, letters},
	{"Python", compile("Binary file \"%m\", at %f+%p [%x]"), returns, "B"},
	{"Python", compile("Binary file \"%m\", at +%o [%x]"), returns, "B"},
	{"Rust", compile("%n: %f"), weak | returns, "0123456789"},
	{"perf", compile("%x %f+%p (%m)"), 0, "0123456789abcdef"},
	{"perf", compile("%x [unknown] (%m)"), 0, "0123456789abcdef"},
	{"valgrind", compile("at %x: %f («in %m»«%s:%l»)"), within | first, "a"},
	{"valgrind", compile("at %x: ???"), within | first, "a"},
	{"valgrind", compile("by %x: %f («in %m»«%s:%l»)"), within, "b"},
	{"valgrind", compile("by %x: ???"), within, "b"},
	{cygwin, compile("%w %x (%t)« %m+0x%o»"), weak, "0123456789ABCDEF"},
	{"markup", compile("{{{bt:%n:%x«:%t»}}}"), 0, "{"},
	{"Wine", compile("«=>»%n %x in %m (+%o)« (%t)»"), 0, "=0123456789"},
	{"Wine", compile("«=>»%n %x %f+%p« [%s:%l]» in %m« (%t)»"), 0, "=0123456789"},
	{"BSD", compile("%t(«%t») at «%m:»%t+%p %f %s:%l [inline]"), inlined, letters},
	{"BSD", compile("%t(«%t») at «%m:»%f+%p«/frame %t»« %s:%l»"), 0, letters},
	{"BSD", compile("%t(«%t») at «%m:»%f"), weak, letters},
	{breakpad, compile("%n %m!%f [%s : %l + %t]"), returns, "0123456789"},
	{breakpad, compile("%n %m!%f + %p"), returns, "0123456789"},
	{breakpad, compile("%n %m + 0x%o"), returns, "0123456789"},
	{breakpad, compile("%d|%n|%m|%f|«%s»|«%l»|0x%z"), weak | returns, "0123456789"},
	{breakpad, compile("%d|%n|%m||||%o"), weak | returns, "0123456789"},
	{breakpad, compile("%n %m!%f"), weak | returns, "0123456789"},
	{"Unreal", compile("0x%x %m!UnknownFunction(%o)"), weak | within, "0"},
	{"Unreal", compile("0x%x %m!%f«(+%p)»« [%s:%l]»"), weak | within, "0"},
	{winDbg, compile("%w %m!%f«+%p»« [%s @ %l]»« [%t]»"), weak, "0123456789abcdef"},
	{winDbg, compile("%w %m+0x%o"), weak, "0123456789abcdef"},
	{winDbg, compile("%w %m 0x%x"), weak | doubtful, "0123456789abcdef"},
	{"Zig", compile("%s:%l: %x in %f (%m)"), within | each, "/" + letters},
	{"Zig", compile("???:?:?: %x in %f (%m)"), within | each, "?"},
	{"FRR", compile("%f+%p %x %w %m (mapped at %t)"), within, letters},
	{"ClickHouse", compile("%n.« %t:» %f @ %x in %m"), within, "0123456789"},
	{"Swift", compile("%n« [ra]»« [async]»« [inlined]» %x %f in %m« at %s:%l»"), weak | within, "0123456789"},
	{"UCX", compile("%n %x %f %s:%l"), weak | within, "0123456789"},
	{"Mono", compile("%x - %m : %f"), weak | returns, "0"},
	{"Unity", compile("%x (%m)« [%s:%l]» %f"), weak | within, "0"},
	{"Unreal", compile("«%t»[Callstack] %x %m!%f« [«%s:%l»]»"), within, "[L"},
	{"Dart", compile("pc %x fp %w %f«+%p»"), weak | within, "p"},
	{"HAProxy", compile("| %x [%t]: %f«+%p»«/%z»"), weak | returns, "|"},
	{"Intel Fortran", compile("%m %x %f %l %s"), weak | within, letters},
	{"Intel Fortran", compile("%m %x %f Unknown Unknown"), weak | within, letters},
	{"Julia", compile("%f at %s:%l [inlined]"), weak | within | inlined, letters + "#"},
	{"Julia", compile("%f at %s:%l"), weak | within, letters + "#"},
	{"Julia", compile("%f at %m (unknown line)"), weak | within, letters},
	{"Julia", compile("unknown function (ip: %x)« at %m»"), weak | within, "u"},
	{"Atmosphere", compile("PC: %x« (%m + %o)»"), weak, "P"},
	{"Atmosphere", compile("ReturnAddress[%n]: %x« (%m + %o)»"), weak, "R"},
	{"Boost", compile("%n# %x in %m"), 0, "0123456789"},
	{"Boost", compile("%n# %f at %s:%l"), 0, "0123456789"},
	{"Boost", compile("%n# %f in %m"), 0, "0123456789"},
	{"macOS", compile("%n %m 0x%x %f + %p"), returns, "0123456789"},
	{"macOS", compile("lr: %x fp: %t"), returns, "l"},
	{"macOS", compile("%w : %x« %m :»« %f + %p»"), returns, "0"},
}
