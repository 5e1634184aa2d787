package display

import "hash/maphash"

// numbered are different values, and their numbers, in the order in which they came. The zero value is empty. A recording has a hundred
// thousand calls, of which a map would keep each once more.
type numbered[T comparable] struct {
	list []T
	// places has the number of each value, plus one, at the first free place from that of the value's hash on; 0 is free. A power of
	// two, of which half is free at least.
	places []uint32
	seed   maphash.Seed
}

// texts are different texts.
type texts = numbered[string]

// number is that of a value: equal ones have the same.
func (d *numbered[T]) number(value T) uint32 {
	if 2*len(d.list) >= len(d.places) {
		d.grow()
	}
	at := d.place(value)
	if d.places[at] == 0 {
		d.list = append(d.list, value)
		d.places[at] = uint32(len(d.list))
	}
	return d.places[at] - 1
}

// place is where the number of a value stands, or is free for the number.
func (d *numbered[T]) place(value T) uint64 {
	mask := uint64(len(d.places) - 1)
	at := maphash.Comparable(d.seed, value) & mask
	for n := d.places[at]; n != 0 && d.list[n-1] != value; n = d.places[at] {
		at = (at + 1) & mask
	}
	return at
}

// grow doubles the places.
func (d *numbered[T]) grow() {
	if d.places == nil {
		d.seed = maphash.MakeSeed()
	}
	d.places = make([]uint32, max(16, 2*len(d.places)))
	for i, value := range d.list {
		d.places[d.place(value)] = uint32(i + 1)
	}
}
