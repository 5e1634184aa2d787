package unwind

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// bindLazily finds the calls of imports that the dynamic linker was binding: nobody can follow a
// call through a GOT entry that is still to be filled, but the PLT has pushed which import it is.
//
//	#2  dl_runtime_resolve
//	#3  main                ◄─ call puts@plt, below which puts' number lies
//
// The stack decides, which caches of frames do not know.
func bindLazily(snap *target.Snapshot, frames []Frame, graph CallGraph) {
	for i := 1; i < len(frames); i++ {
		f, callee := &frames[i], &frames[i-1]
		if f.Checks&targetChecks != TargetUnclear || !callee.HasCFA {
			continue
		}
		site, kind := callsite.BeforeIn(snap, f.Module, f.PC, f.Mode)
		if kind == callsite.Call && site.Direct && graph.Binds(snap, site.Target, site.TargetMode, callee.CFA) {
			f.Checks = f.Checks&^TargetUnclear | TargetMatches | LazyBinding
		}
	}
}
