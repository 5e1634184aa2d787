package kernellog

import (
	"github.com/backsight/backsight/target"
)

// doubtLosses marks the entries of a chain out of a report that lacks lines, or has another report's.
func doubtLosses(e *evidence, listed []target.Listed) []target.Listed {
	_, lacking := missingLine(e.record)
	elsewhere := e.isMixed() || lacksPC(e.record)
	if len(listed) > 0 && (e.lacksBeginning(&listed[0]) || e.binaries.doubtPC(e.record)) {
		markFirst(listed)
	}
	for i := range listed {
		l := &listed[i]
		l.Gap = l.Gap || lacking || elsewhere
		l.Searched = l.Searched || elsewhere
	}
	return listed
}

// markFirst marks where a chain begins as a gap, stale entries in front among that.
func markFirst(listed []target.Listed) {
	for i := range listed {
		if listed[i].Gap = true; !listed[i].Doubtful {
			return
		}
	}
}

// lacksBeginning tells whether the chain has neither the header that the processor's reports have, nor a PC to begin
// at: it is the rest of a chain into which another report was printed, or with which the log begins. Where a header stands, but
// nothing in front that says whose chain follows, the PC was there. What a checker kept has no header. Where a report
// of MIPS names the process that runs and no PC, show_stack takes its own registers.
func (e *evidence) lacksBeginning(first *target.Listed) bool {
	keepsNoHeader := e.what == "KFENCE" && !e.within.begins
	if e.of != nil || pcOf(e.record) != nil || samePlace(first, &e.at) || keepsNoHeader {
		return false
	}
	if e.within.begins || e.trace.nowhere || e.has(headed) && (!e.trace.headed || e.what == "" && !e.process) {
		return true
	}
	return e.has(searches) && e.process && first.Symbol != "" && !e.binaries.machine.listsItself(first)
}

// lacksPC tells whether the record's chain begins elsewhere than where the processor stood: its first lines were
// lost, or the chain is another report's. ARM names the function of the PC first, or the caller's where no function
// is at the PC.
func lacksPC(r *record) bool {
	pc := r.reg("pc", "epc")
	if pc == nil || len(r.trace.listed) == 0 {
		return false
	}
	first := &r.trace.listed[0]
	m := processorOf(r)
	if m.has(pairs) {
		lr := r.reg("lr")
		named := pc.at.symbol
		switch {
		case named == "" && lr == nil:
			return true
		case named == "":
			named = lr.at.symbol
		}
		return named != "" && first.Symbol != named
	}
	return pc.at.symbol != "" && m.has(listsAtPC) && !samePlace(first, &pc.at) && !m.leavesPCOut(releaseOf(r.release))
}
