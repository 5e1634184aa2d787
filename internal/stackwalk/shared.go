package stackwalk

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Shared is what walkers with the same sources and the same CallGraph leave for one another:
// the rules and callers that an image's code alone decides, kept with the image. A walker
// that is new to a stack finds most frames there.
type Shared struct {
	sorting sync.Once
	sources *ownSources

	mu     sync.Mutex
	caches []weak.Pointer[imageCache] // those with an ID, which is the place behind; the images keep them
}

// Forget drops what walks have left: who has walked all, and needs memory for something else, need not keep that. Walks that follow
// find the same anew.
func (s *Shared) Forget() {
	s.mu.Lock()
	caches := slices.Clone(s.caches)
	s.mu.Unlock()
	for _, p := range caches {
		if c := p.Value(); c != nil {
			c.mu.Lock()
			c.clear()
			c.mu.Unlock()
		}
	}
}

// enter gives a cache its ID, 0 where all are taken.
func (s *Shared) enter(c *imageCache) (id uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.caches) == math.MaxUint16 {
		return 0
	}
	s.caches = append(s.caches, weak.Make(c))
	return uint16(len(s.caches))
}

// imageCache is a ruleCache of one image, in image addresses, which are the same in every
// process. caller.module is the ID of the caller's image. Any goroutine may look values up;
// mu is for goroutines that add values.
type imageCache struct {
	id      uint16 // 0: there are too many images, and the cache is not used
	mu      sync.Mutex
	rules   atomic.Pointer[hashTable[codeAddr, cachedRule]]
	callers atomic.Pointer[hashTable[callKey, caller]]
}

// open gives c an ID and empty tables, once.
func (c *imageCache) open(s *Shared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rules.Load() != nil {
		return
	}
	c.id = s.enter(c)
	c.clear()
}

// clear gives c empty tables. c.mu is held.
func (c *imageCache) clear() {
	c.callers.Store(new(hashTable[callKey, caller]))
	c.rules.Store(new(hashTable[codeAddr, cachedRule]))
}

// rule finds the rule of a place, nil where there is none.
func (c *imageCache) rule(p place) *cachedRule {
	return c.rules.Load().find(p.pc.hash(), p.tag, p.pc)
}

// caller finds the caller of a place with a return address in an image, where r is what
// the cache has for the place.
func (c *imageCache) caller(p place, r *cachedRule, ra uint64, image uint16) *caller {
	if r.caller.ra == ra && r.caller.module == image {
		return &r.caller
	}
	k := callKey{uint64(p.pc), ra}
	return c.callers.Load().find(k.hash(), p.tag|uint32(image)<<imageShift, k)
}

// publish adds a rule and its caller; where the rule is known already, the caller.
func (c *imageCache) publish(p place, r cachedRule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.rule(p)
	if known == nil {
		insert(&c.rules, p.tag, p.pc, r)
		return
	}
	if ra, image := r.caller.ra, r.caller.module; !r.rule.Ends() && c.caller(p, known, ra, image) == nil {
		insert(&c.callers, p.tag|uint32(image)<<imageShift, callKey{uint64(p.pc), ra}, r.caller)
	}
}

// insert adds a key to a table that others read meanwhile.
func insert[K hashKey, V any](to *atomic.Pointer[hashTable[K, V]], tag uint32, key K, value V) {
	if t := *to.Load(); !t.put(tag, key, value) {
		t = t.grown(maxTable).insert(maxTable, tag, key, value)
		to.Store(&t)
	}
}

// moduleCache is a module and the cache of its image; nil where the cache cannot be used.
type moduleCache struct {
	module *target.Module
	cache  *imageCache
	index  uint16 // in Snapshot.Modules
}

// moduleCaches finds the moduleCache of a module. A walk goes from one module to another
// and back, so that the last two are kept.
type moduleCaches struct {
	shared *Shared // nil: no cache is used
	last   [2]moduleCache
}

func (k *moduleCaches) of(snap *target.Snapshot, m *target.Module) moduleCache {
	switch m {
	case k.last[0].module:
	case k.last[1].module:
		k.last[0], k.last[1] = k.last[1], k.last[0]
	default:
		k.last[0], k.last[1] = newModuleCache(k.shared, snap, m), k.last[0]
	}
	return k.last[0]
}

// biasUnit divides all biases: the low bits of an address, its ISA mode among them, are
// the same in the image.
const biasUnit = 1 << 12

// newModuleCache finds the cache of m's image, if m's code is what the image says: mapped as
// a whole, at a bias that keeps the low bits of addresses, for the program's processor.
func newModuleCache(shared *Shared, snap *target.Snapshot, m *target.Module) moduleCache {
	k := moduleCache{module: m}
	i := moduleIndex(snap, m)
	if shared == nil || m.Image == nil || m.Image.Arch != snap.Arch || m.Bias%biasUnit != 0 || uint(i) > math.MaxUint16 || !whole(m) {
		return k
	}
	c := m.Image.Memo(shared, func() any { return new(imageCache) }).(*imageCache)
	if c.rules.Load() == nil {
		c.open(shared)
	}
	if c.id != 0 {
		k.cache, k.index = c, uint16(i)
	}
	return k
}

// moduleIndex is the index of a module in Snapshot.Modules, which are sorted; -1 where the module is not among them.
func moduleIndex(snap *target.Snapshot, m *target.Module) int {
	i := sort.Search(len(snap.Modules), func(i int) bool { return snap.Modules[i].Lo >= m.Lo })
	for ; i < len(snap.Modules) && snap.Modules[i].Lo == m.Lo; i++ {
		if snap.Modules[i] == m {
			return i
		}
	}
	return -1
}

// whole tells whether all code of a module's image is mapped.
func whole(m *target.Module) bool {
	for i := range m.Image.Segments {
		s := &m.Image.Segments[i]
		if at := m.ToTarget(s.Addr); s.Exec && (!m.Contains(at) || !m.Contains(at+s.Size-1)) {
			return false
		}
	}
	return true
}

// Options configure a Walker.
type Options struct {
	// Sources in the order in which they are asked.
	Sources []Source
	// CallGraph checks call targets; nil: those checks are left out.
	CallGraph CallGraph
	// Unchecked: what a table says of an exact frame is not compared with the code. A profile has too many places for that.
	Unchecked bool
	// Shared, if set, is what walkers with the same Sources, CallGraph and Unchecked leave for one
	// another.
	Shared *Shared
	// MaxFrames bounds a walk; 0 means DefaultMaxFrames.
	MaxFrames int
	// Fold leaves turns of long recursion out of the frames: see Walker.Repeats.
	Fold bool
	// Explain, if set, is told of every question and its answer.
	Explain func(unwind.Attempt)
	// Registers, if set, is shown every frame's registers as the frame is found;
	// they are valid during the call only.
	Registers func(frame int, regs *cpu.Registers)
}

// ruleSource is the first source of a method, nil if it is left out.
func ruleSource(sources []Source, m unwind.Method) RuleSource {
	for _, s := range sources {
		if r, ok := s.(RuleSource); ok && s.Method() == m {
			return r
		}
	}
	return nil
}

// ImageSource is implemented by sources that answer for some images only, because most lack the table that they read.
type ImageSource interface {
	// Knows tells whether the source may have an answer for a place in an image.
	Knows(img *image.Image) bool
}

// sourceLists are the sources to ask, by image. One per goroutine.
type sourceLists struct {
	*ownSources
	shared    *Shared // nil: lists are kept for the last image only
	last      *image.Image
	lastKnown *imageSources
}

// ownSources are the sources of a walker, sorted by what they are. They are asked about frames outside all images.
type ownSources struct {
	imageSources
	trampolines []trampolineSource

	mu    sync.Mutex
	lists map[knownBy]*imageSources
}

// knownBy are the sources that know an image: a bit for each of all, which are 64 at most.
type knownBy struct {
	which uint64
	made  bool // the image is code that was made at run time
}

// imageSources are the sources that know an image.
type imageSources struct {
	all, exact []Source     // exact in the order in which they are asked about an exact frame
	tables     []RuleSource // those that read tables
}

func newSourceLists(opt *Options) *sourceLists {
	sorted := func() *ownSources {
		return &ownSources{imageSources: *newImageSources(opt.Sources, false), trampolines: trampolinesOf(opt.Sources), lists: make(map[knownBy]*imageSources)}
	}
	if opt.Shared == nil {
		return &sourceLists{ownSources: sorted()}
	}
	opt.Shared.sorting.Do(func() { opt.Shared.sources = sorted() })
	return &sourceLists{ownSources: opt.Shared.sources, shared: opt.Shared}
}

// of are the sources that know an image.
func (l *sourceLists) of(img *image.Image) *imageSources {
	type key struct{ shared *Shared }
	if l.last == img {
		return l.lastKnown
	}
	list := func() any { return l.knowing(img) }
	l.last = img
	if l.shared != nil {
		l.lastKnown = img.Memo(key{l.shared}, list).(*imageSources)
	} else {
		l.lastKnown = list().(*imageSources)
	}
	return l.lastKnown
}

// knowing are the sources that know an image: the same lists for all images that the same sources know.
func (o *ownSources) knowing(img *image.Image) *imageSources {
	by := knownBy{made: img.Made}
	for i, s := range o.all {
		if asked, asks := s.(ImageSource); !asks || asked.Knows(img) {
			by.which |= 1 << i
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lists[by] == nil {
		var some []Source
		for set := by.which; set != 0; set &= set - 1 {
			some = append(some, o.all[bits.TrailingZeros64(set)])
		}
		o.lists[by] = newImageSources(some, by.made)
	}
	return o.lists[by]
}

func newImageSources(sources []Source, made bool) *imageSources {
	return &imageSources{sources, exactOrder(sources, made), tablesOf(sources)}
}

// exactOrder is the order for exact frames: a table that describes frames where they call others
// is asked after the code, which knows prologues and epilogues too. Such a table is what V8 writes for code that it makes: behind
// "pop %rbp" that is said to lie on the stack still (TestMadeEpilogue).
func exactOrder(sources []Source, made bool) []Source {
	code := slices.IndexFunc(sources, func(s Source) bool {
		_, ok := s.(RuleSource)
		return ok && s.Method() == unwind.MethodCode
	})
	var order, later []Source
	for i, s := range sources {
		if i < code && (describesCalls(s.Method()) || made && s.Method() == unwind.MethodCFI) {
			later = append(later, s)
		} else {
			order = append(order, s)
		}
		if i == code {
			order = append(order, later...)
		}
	}
	return order
}

// tablesOf are the sources that read tables.
func tablesOf(sources []Source) (tables []RuleSource) {
	for _, s := range sources {
		if r, ok := s.(RuleSource); ok && basisOf(s.Method()) == inTable {
			tables = append(tables, r)
		}
	}
	return tables
}
