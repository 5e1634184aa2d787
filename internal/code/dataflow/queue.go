package dataflow

import "github.com/backsight/backsight/internal/code/disasm"

// queue are the blocks that wait for a visit.
type queue struct {
	list []*block
	// places has, for each kind of edge, the indexes of the blocks that control comes to
	// by such an edge: a function of nothing but branches has thousands waiting.
	places [edges]disasm.Offsets
}

func (q *queue) reset() {
	q.list = q.list[:0]
	for via := range q.places {
		q.places[via].Reset()
	}
}

// add makes a block wait, unless the block does.
func (q *queue) add(b *block) {
	if b.place == 0 {
		q.list = append(q.list, b)
		b.place = uint32(len(q.list))
		q.places[b.via].Add(b.place - 1)
	}
}

// comes notes that control comes to a block by a more believable edge.
func (q *queue) comes(b *block, via edge) {
	if b.place != 0 {
		q.places[b.via].Remove(b.place - 1)
		q.places[via].Add(b.place - 1)
	}
	b.via = via
}

// take removes the most believable block, nil if none waits, so that what a doubtful path
// says meets an established state and not the reverse.
func (q *queue) take() *block {
	for via := range q.places {
		if i := q.places[via].Next(0); i != disasm.None {
			return q.remove(i)
		}
	}
	return nil
}

// remove removes the block at an index; the last one takes its place.
func (q *queue) remove(i uint32) *block {
	b, last := q.list[i], q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	q.places[last.via].Remove(last.place - 1)
	if last != b {
		q.places[b.via].Remove(i)
		q.places[last.via].Add(i)
		q.list[i], last.place = last, i+1
	}
	b.place = 0
	return b
}
