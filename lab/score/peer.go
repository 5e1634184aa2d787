package score

import (
	"context"

	"github.com/backsight/backsight/lab/gdb"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// peer is GDB at work on the snapshots of one case; nil when it is not asked.
type peer struct {
	session *gdb.Session
	every   int
	seen    int
	failed  error
}

// newPeer is GDB for a program of one image; the cores that GDB is given name no
// libraries.
func (s *scorer) newPeer(images []truth.Image) (*peer, error) {
	if s.opt.GDB == 0 || len(images) > 1 {
		return nil, nil
	}
	session, err := gdb.NewSession(images[0].Path)
	return &peer{session: session, every: s.opt.GDB}, err
}

func (p *peer) close() {
	if p != nil {
		p.session.Close()
	}
}

// add hands a snapshot over, if it is one of those that are compared.
func (p *peer) add(snap *target.Snapshot) {
	if p == nil {
		return
	}
	if p.seen%p.every == 0 && p.failed == nil {
		p.failed = p.session.Add(snap)
	}
	p.seen++
}

// judge gives every outcome GDB's verdict.
func (p *peer) judge(ctx context.Context, out []Outcome) error {
	if p == nil || p.failed != nil {
		return nil
	}
	chains, err := p.session.Backtraces(ctx)
	for i := range min(len(out), len(chains)) {
		var got []Got
		for _, pc := range chains[i] {
			got = append(got, Got{PC: pc})
		}
		v := Judge(out[i].Answer, got)
		out[i].Peer = &v
	}
	return err
}
