package kernellog

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// repairs make the call chain that a report lists one of frames, from where the PC is: each takes the chain that the one
// before it returned. They come in groups, which build on one another:
// what printed the report goes; the PC and the callers that the list lacks come; entries get addresses; what the list may
// lack, or has too much, is marked; and the stack and the message of a workqueue tell what is further out.
var repairs = [...]func(e *evidence, listed []target.Listed) []target.Listed{
	withoutShown,    // show_stack ◄ die ◄ do_page_fault ◄ error_code ◄ vfs_read: vfs_read
	withoutHandlers, // ? exc_page_fault ◄ ? leaf ◄ mid: mid
	believeCaller,   // ? toy_call, the first word of the stack behind a call of address 0: toy_call
	beginLater,      // a stack overflow has registers alone, and the panic's report the chain

	fromWherePC,          // registers, a warning's first line, or the list itself
	doubtWithoutPC,       // MIPS: unknown_bootoption+0x0/0x340 is no return address
	fromCallNowhere,      // ARM: PC at 0x0, LR at call_ptr: call_ptr
	doubtSearched,        // MIPS: the list does not begin at the PC
	withPC,               // leaf at the PC ◄ mid
	withLinkValue,        // what the link register says of the entry behind the PC
	withLinkRegister,     // leaf ◄ mid in the link register ◄ top
	withCallerFromFrames, // i386: leaf ◄ ? mid ◄ top: mid is the caller
	withLater,            // leaf ◄ mid, and ◄ top out of the panic's report
	withWarned,           // warn_slowpath_fmt ◄ warn_c of the first line ◄ warn_b

	doubtThreadStart, // a module's function ◄ ret_from_fork: kthread was lost
	doubtCallers,     // worker_thread ◄ ksys_write: no caller
	settlePlaces,     // [<c00a506c>] mid+0x40/0x54: which of the two is right?
	withAddresses,    // leaf+0x20/0x2c: where a file has leaf

	doubtOtherCalls,       // do_el0_svc ◄ el0t_64_sync_handler: el0_svc in all other reports
	doubtSpelling,         // ksys_wrrte: ksys_write at the same place in all other reports
	doubtLosses,           // a register or a line is missing, or another report's
	doubtUnmarked,         // x86 before Linux 2.6.25: each word that points to code
	doubtBehindExceptions, // RISC-V: ret_from_exception ◄ its caller, or the interrupted function's
	doubtInterrupted,      // an entry that was interrupted stands behind a call
	dropNextNames,         // bug_c+0x0/0x14 is the end of bug_b
	withStackWords,        // return addresses on the stack between the entries, and further out
	withWork,              // work_fn ◄ process_one_work ◄ worker_thread ◄ kthread
}

// chain is the call chain of a record, from where the PC is.
func (k *kernelLog) chain(r *record, b *binaries) []target.Listed {
	e := &evidence{record: r, binaries: b, later: laterChain(k.records, r), calls: k.calls, spellings: k.spellings}
	listed := slices.Clone(r.trace.listed)
	for _, repair := range repairs {
		listed = repair(e, listed)
	}
	return listed
}

// beginLater takes the chain of a later report where the report has none.
func beginLater(e *evidence, listed []target.Listed) []target.Listed {
	if len(listed) > 0 {
		return listed
	}
	listed, e.later = slices.Clone(e.later), nil
	return listed
}

// withLater adds the rest of a chain that ends early.
func withLater(e *evidence, listed []target.Listed) []target.Listed {
	return append(listed, e.later...)
}
