package kernellog

import (
	"strings"
	"testing"
)

// TestWork: a worker's report names the function that it runs; where the chain does not reach that function,
// it and those that call it are known to be further out.
func TestWork(t *testing.T) {
	worker := func(line string) string {
		return strings.NewReplacer("Comm: sh", "Comm: kworker/0:1", "$ 0   :", line+"\n$ 0   :").Replace(mipsOops)
	}
	const ends = "leaf! mid"
	for _, c := range []struct{ name, log, want, module string }{
		{"a module's", worker("Workqueue: events work_fn [toy]"), ends + " ~work_fn ~process_one_work ~worker_thread ~kthread", "toy"},
		{"with a description", worker("Workqueue: writeback wb_workfn (flush-8:0)"), ends + " ~wb_workfn ~process_one_work ~worker_thread ~kthread", ""},
		{"of a rescuer", strings.ReplaceAll(worker("Workqueue: nvme wq work_fn"), "kworker/0:1", "nvme wq"), ends + " ~work_fn ~process_one_work ~rescuer_thread ~kthread", ""},
		{"idle", worker("Workqueue:  0x0 (rcu_gp)"), ends, ""},
		{"cut", worker("Workqueue: events"), ends, ""},
		{"a chain that reaches it", strings.Replace(worker("Workqueue: events work_fn [toy]"), "/0x54 [toy]\n\n", "/0x54 [toy]\n[<81b8ad4c>] process_one_work+0x34/0x58\n\n", 1), ends, ""},
	} {
		th := &snapshots(t, c.log)[0].Threads[0]
		var got []string
		for i := range th.Listed {
			l := &th.Listed[i]
			if l.Around {
				got = append(got, "~"+l.Symbol)
			}
			if l.Symbol == "work_fn" && l.Module != c.module {
				t.Errorf("%s: in module %q", c.name, l.Module)
			}
		}
		want := strings.TrimPrefix(strings.TrimPrefix(c.want, ends), " ")
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", c.name, g, want)
		}
	}
}
