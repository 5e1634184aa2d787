package kernellog

import (
	"strings"

	"github.com/backsight/backsight/target"
)

// workIn reads which function a worker of a workqueue runs (kernel/workqueue.c, print_worker_info):
//
//	Workqueue: events work_fn [crashy]
//	Workqueue: writeback wb_workfn (flush-8:0)
func workIn(text string) (work place, ok bool) {
	rest, ok := strings.CutPrefix(text, "Workqueue: ")
	if !ok {
		return work, false
	}
	if rest, ok = strings.CutSuffix(rest, ")"); ok {
		rest, _, _ = cutLast(rest, '(')
		rest = strings.TrimRight(rest, " ")
	}
	name, module, _ := cutLast(rest, '[')
	module, _ = cutModule("[" + module)
	_, function, ok := cutLast(strings.TrimRight(name, " "), ' ')
	if ok && isSymbol(function) {
		work = place{symbol: function, module: module}
	}
	return work, true
}

// around are the functions that run further out than a record's chain, innermost first, of a report that names
// the work that the task executes. Only process_one_work calls the functions of works, and a thread that
// kthread began calls process_one_work. MIPS prints 40 words of the stack, which these frames lie beyond.
func around(r *record, listed []target.Listed, b *binaries) (list []target.Listed) {
	loop := "worker_thread"
	if r.comm != "" && !strings.HasPrefix(r.comm, "kworker") {
		loop = "rescuer_thread" // its task has the workqueue's name
	}
	names := [...]string{r.work.symbol, "process_one_work", loop, "kthread"}
	if r.work.symbol == "" || r.whole() {
		return nil
	}
	for i := range listed {
		for _, name := range names {
			if listed[i].Symbol == name && !listed[i].Doubtful {
				return nil
			}
		}
	}
	for _, name := range names {
		list = append(list, target.Listed{Symbol: name, Gap: true, Around: true})
	}
	list[0].Module = r.work.module
	for i := range list {
		p := place{symbol: list[i].Symbol, module: list[i].Module}
		list[i].PC, _ = b.addressOf(&p)
	}
	return list
}
